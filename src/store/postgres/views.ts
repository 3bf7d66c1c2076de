// Views for people with psql: the sessions, health checks, handoffs and tasks of a workspace as tables. They read what other rooms
// write on tapes, and nothing in Baton reads them.

/** `S` stands for the schema. An entry that JSON of PostgreSQL cannot hold (a NUL, half a character) is left out. */
export const views = `
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
