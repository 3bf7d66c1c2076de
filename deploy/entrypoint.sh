#!/bin/sh
# Reads a password from the file that PGPASSWORD_FILE or NATS_PASSWORD_FILE names: so it stands in no process list and no inspect.
set -e
if [ -n "$PGPASSWORD_FILE" ]; then
  PGPASSWORD="$(cat "$PGPASSWORD_FILE")"
  export PGPASSWORD
fi
if [ -n "$NATS_PASSWORD_FILE" ]; then
  NATS_PASSWORD="$(cat "$NATS_PASSWORD_FILE")"
  export NATS_PASSWORD
fi
exec "$@"
