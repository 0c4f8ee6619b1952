/** Workers, their lives, and what they have counted. */
export const WORKERS = `
create table holdfast_workers (
  worker_key       integer primary key,
  worker_id        blob not null unique,
  namespace        text not null,
  name             text not null,
  host             text,
  pid              integer,
  queues           text not null,
  workflows        text not null,
  tasks            text,
  labels           text not null,
  about            text not null,
  load             text,
  drain_asked      integer not null,
  -- When the last of its heartbeats was kept, and the number of the counts that it added last.
  logged_at        integer not null,
  rates_no         integer not null,
  -- How often others have changed runs that it holds: whoever knows these runs by heart does not know them any more.
  taken            integer not null,
  status           integer not null,
  died             integer not null,
  emptied          integer not null,
  lease_ms         integer not null,
  started_at       integer not null,
  heartbeat_at     integer not null,
  lease_expires_at integer not null,
  stopped_at       integer,
  known_schema     integer not null
) strict;
create index holdfast_workers_namespace on holdfast_workers (namespace);
create index holdfast_workers_watched on holdfast_workers (status, lease_expires_at) where emptied = 0;
create index holdfast_workers_gone on holdfast_workers (stopped_at) where emptied = 1;

create table holdfast_worker_log (
  entry_no  integer primary key autoincrement,
  namespace text not null,
  worker_id blob not null,
  name      text not null,
  type      text not null,
  at        integer not null
) strict;
create index holdfast_worker_log_of on holdfast_worker_log (namespace, entry_no);
create index holdfast_worker_log_one on holdfast_worker_log (worker_id, entry_no);

-- What workers have counted, per minute and workflow.
create table holdfast_rates (
  namespace text not null,
  at        integer not null,
  workflow  text not null,
  started   integer not null,
  ended     integer not null,
  failed    integer not null,
  retried   integer not null,
  primary key (namespace, at, workflow)
) strict, without rowid;
create index holdfast_rates_at on holdfast_rates (at);
`;
