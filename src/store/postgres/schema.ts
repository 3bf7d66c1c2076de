// The tables of a workspace in PostgreSQL, and the function that appends. All of it is in one schema of the database, so
// that several workspaces can share a server and a person can look at one with psql.

// Views for people with psql: the sessions, health checks, handoffs and tasks of a workspace as tables. They read what other rooms
// write on tapes, and nothing in Baton reads them.

/** `S` stands for the schema. An entry that JSON of PostgreSQL cannot hold (a NUL, half a character) is left out. */
const views = `
create function S.decoded(encoded text) returns text language sql immutable as $decoded$
  select convert_from(string_agg(
    case when part[1] like '\\%%' then decode(substr(part[1], 2), 'hex') else convert_to(part[1], 'UTF8') end, ''::bytea order by n
  ), 'UTF8')
  from regexp_matches(encoded, '%[0-9A-F]{2}|[^%]+', 'g') with ordinality as m(part, n)
$decoded$;

create function S.as_json(id bigint, rest text) returns jsonb language plpgsql immutable as $as_json$
begin
  return ('{"id":' || id || rest || '}')::jsonb;
exception when others then
  return null;
end
$as_json$;

create view S.sessions as
select S.decoded(substr(t.name, 11)) as name, line ->> 'agent' as agent, line ->> 'project' as project, line ->> 'state' as state,
  (line ->> 'context_usage')::float as context_usage, (line ->> 'tokens')::bigint as tokens, (line ->> 'cycles')::int as cycles,
  (line ->> 'usd')::float as usd, line ->> 'started' as started, line ->> 'last_check' as last_check, line ->> 'ended' as ended
from S.tapes t
cross join lateral (
  select S.as_json(e.id, e.rest) -> 'payload' -> 'data' as line from S.entries e
  where e.key = t.key and e.keyed = '"row"' and e.id >= t.first_id order by e.id desc limit 1
) newest
where t.name like 'session\\%2F%';

create view S.health_checks as
select S.decoded(substr(t.name, 11)) as session, e.id, j ->> 'date' as date, data ->> 'project' as project,
  data ->> 'check_type' as check_type, data ->> 'status' as status, data -> 'details' as details, data ->> 'action_taken' as action_taken
from S.tapes t join S.entries e using (key)
cross join lateral (select S.as_json(e.id, e.rest) as j) json
cross join lateral (select j -> 'payload' -> 'data' as data) inner_data
where t.name like 'session\\%2F%' and e.keyed like '"health:%';

create view S.handoffs as
select S.decoded(t.name) as tape, e.id, j ->> 'date' as date, data ->> 'profile' as profile, data ->> 'goal' as goal,
  data ->> 'writer' as writer, data ->> 'sha256' as document, (data ->> 'bytes')::bigint as bytes
from S.tapes t join S.entries e using (key)
cross join lateral (select S.as_json(e.id, e.rest) as j) json
cross join lateral (select j -> 'payload' -> 'data' as data) inner_data
where e.keyed = '"handoff_document"';

create view S.tasks as
select S.decoded(substr(t.name, 8)) as task, (data ->> 'version')::int as version, j ->> 'date' as date,
  data ->> 'phase' as phase, data ->> 'source_agent' as source_agent, data ->> 'target_agent' as target_agent
from S.tapes t
cross join lateral (
  select S.as_json(e.id, e.rest) as j from S.entries e
  where e.key = t.key and e.keyed = '"version"' and e.id >= t.first_id order by e.id desc limit 1
) newest
cross join lateral (select j -> 'payload' -> 'data' as data) inner_data
where t.name like 'task\\%2F%';
`

/** Raised by one with every change below; `migrations` leads from each version to the next. */
export const schemaVersion = 2

/** What is run to come from version n to n + 1, beginning with an empty schema. `S` stands for the schema. */
export const migrations: readonly string[] = [
  `
create table S.workspace (id text not null, version int not null);

create sequence S.tape_keys;

create table S.tapes (
  name text collate "C" primary key,
  key bigint not null unique,
  first_id bigint not null,
  last_id bigint not null,
  bytes bigint not null,
  date text not null
);

create table S.entries (
  key bigint not null,
  id bigint not null,
  kind text collate "C" not null,
  anchor text collate "C",
  anchor_from bigint,
  keyed text collate "C",
  idempotency text collate "C",
  batch_index int not null,
  batch_size int not null,
  write uuid,
  part int,
  crc bigint not null,
  bytes int not null,
  rest text collate "C" not null,
  primary key (key, id)
);
create index entries_anchors on S.entries (key, id) where anchor is not null;
create index entries_named_anchors on S.entries (key, anchor, id) where anchor is not null;
create index entries_keyed on S.entries (key, keyed, id) where keyed is not null;
create index entries_idempotency on S.entries (key, idempotency, id) where idempotency is not null;
create unique index entries_writes on S.entries (key, write, part) where write is not null;

create table S.unfinished (key bigint primary key, begun timestamptz not null default now());

create table S.archives (
  key bigint not null,
  ref text not null,
  first_id bigint not null,
  last_id bigint not null,
  bytes bigint not null,
  primary key (key, first_id)
);

create table S.blobs (sha256 text primary key, bytes bigint not null);
create table S.blob_parts (sha256 text not null, part int not null, content bytea not null, primary key (sha256, part));

-- Appends a group of batches to a tape, in order, each checked as if those before it were already there. A conflict
-- refuses its own batch only. "again": the first answer was lost on the way, so batches of this write that are there count.
create function S.append(
  p_tape text, p_write uuid, p_again boolean,
  p_from int[], p_to int[], p_expect_id bigint[], p_expect_key text[], p_batch_idempotency text[],
  p_rest text[], p_kind text[], p_anchor text[], p_anchor_from bigint[], p_key text[], p_idempotency text[], p_crc bigint[],
  p_date text[]
) returns table (part int, outcome text, first_id bigint, size int, actual bigint)
language plpgsql as $append$
declare
  t record;
  found_row record;
  is_new boolean := false;
  was_written boolean := false;
  placed int := 0;
  added bigint;
  seen bigint;
  newest text;
begin
  perform set_config('lock_timeout', '30s', true);
  select * into t from S.tapes where name = p_tape for update;
  if not found then
    -- Nobody else makes this tape until we are done.
    perform pg_advisory_xact_lock(hashtextextended('S.' || p_tape, 0));
    select * into t from S.tapes where name = p_tape for update;
    if not found then
      is_new := true;
      select p_tape as name, nextval('S.tape_keys') as key, 1::bigint as first_id, 0::bigint as last_id, 0::bigint as bytes into t;
    end if;
  end if;
  if p_again then
    was_written := exists (select from S.entries e where e.key = t.key and e.write = p_write);
  end if;
  for b in 1 .. array_length(p_from, 1) loop
    part := b;
    size := p_to[b] - p_from[b] + 1;
    first_id := null;
    actual := null;
    if was_written then
      select e.id into found_row from S.entries e where e.key = t.key and e.write = p_write and e.part = b;
      if found then
        outcome := 'placed'; first_id := found_row.id;
        return next;
        continue;
      end if;
    end if;
    if p_batch_idempotency[b] is not null then
      select e.id, e.batch_index, e.batch_size into found_row from S.entries e
        where e.key = t.key and e.idempotency = p_batch_idempotency[b] and e.id >= t.first_id order by e.id desc limit 1;
      if found then
        outcome := 'repeated'; first_id := found_row.id - found_row.batch_index; size := found_row.batch_size;
        return next;
        continue;
      end if;
    end if;
    if p_expect_id[b] is not null then
      if p_expect_key[b] is null then
        seen := t.last_id;
      else
        select coalesce(max(e.id), 0) into seen from S.entries e
          where e.key = t.key and e.keyed = p_expect_key[b] and e.id >= t.first_id;
      end if;
      if seen <> p_expect_id[b] or was_written then
        outcome := 'conflict'; actual := seen;
        return next;
        continue;
      end if;
    end if;
    first_id := t.last_id + 1;
    insert into S.entries
      (key, id, kind, anchor, anchor_from, keyed, idempotency, batch_index, batch_size, write, part, crc, bytes, rest)
      select t.key, t.last_id + i - p_from[b] + 1, e.kind, e.anchor, e.anchor_from, e.keyed, e.idempotency, i - p_from[b], size,
        case when i = p_from[b] then p_write end, case when i = p_from[b] then b end, e.crc, octet_length(e.rest), e.rest
      from unnest(p_rest, p_kind, p_anchor, p_anchor_from, p_key, p_idempotency, p_crc)
        with ordinality as e(rest, kind, anchor, anchor_from, keyed, idempotency, crc, i)
      where i between p_from[b] and p_to[b];
    select sum(octet_length(r)) into added from unnest(p_rest[p_from[b]:p_to[b]]) r;
    t.last_id := t.last_id + size;
    t.bytes := t.bytes + added;
    newest := p_date[p_to[b]];
    placed := placed + 1;
    outcome := 'placed';
    return next;
  end loop;
  if placed = 0 then
    return;
  elsif is_new then
    insert into S.tapes values (p_tape, t.key, t.first_id, t.last_id, t.bytes, newest);
  else
    update S.tapes set last_id = t.last_id, bytes = t.bytes, date = newest where name = p_tape;
  end if;
end
$append$;
`,
  views,
]

/** The statement for that schema, whose name is a plain word. */
export function forSchema(sql: string, schema: string): string {
  // In a text it is only a name; elsewhere it may be a word that SQL has a use for.
  return sql.replaceAll("'S.'", `'${schema}.'`).replaceAll(/\bS\./g, `"${schema}".`)
}
