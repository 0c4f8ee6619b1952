export const LIMIT_TABLES = String.raw`
-- Queues with limits: one row for runs, one for tasks. The lanes of such a queue name it, so that no other call looks here. Whoever
-- changes this row, its keys or its lines has locked the queue (limited_lock).
create table limited (
  limited_id   int generated always as identity primary key,
  namespace    text collate "C" not null,
  queue        text collate "C" not null,
  kind         text not null,  -- runs, tasks
  limits       jsonb not null,
  running      bigint not null default 0,  -- places that are taken, or were given back and not counted yet
  tokens       double precision,
  tokens_at    bigint,
  awaited      boolean not null default false,  -- when tokens were last taken, something waited for the next one
  virtual_time double precision not null default 0,
  per_second   double precision not null default 0,
  pace_at      bigint not null default 0,
  unique (namespace, queue, kind)
) with (fillfactor = 50);

-- Of every queue whose limits were ever set, also of those that have none any more.
create table queue_revisions (
  namespace text collate "C",
  queue     text collate "C",
  revision  uuid not null,
  primary key (namespace, queue));

-- Keys with something in line or in progress, or with a bucket that is not full. wake_at: when one that is not ready will be by itself.
create table limited_keys (
  limited_id   int not null,
  key          text collate "C" not null,
  running      bigint not null,
  tokens       double precision,
  tokens_at    bigint,
  awaited      boolean not null default false,
  virtual_time double precision not null,
  ready        boolean not null,
  wake_at      bigint,
  primary key (limited_id, key)
) with (fillfactor = 70, vacuum_truncate = false);
create index limited_keys_ready on limited_keys (limited_id, virtual_time, key) where ready;
create index limited_keys_wake on limited_keys (limited_id, wake_at) where wake_at is not null;

-- Runs (seq 0) and tasks that wait for a place. Written under the lock of the run or the task. Of those that are due since the same
-- time, the run that was started first comes first: run_no.
create table lines (
  run_id     uuid not null,
  seq        int not null,
  limited_id int not null,
  lane_id    int not null,
  at         bigint not null,
  run_no     bigint not null,
  key        text collate "C" not null,
  primary key (run_id, seq)
) with (vacuum_truncate = false);
-- Neither run_id nor seq as such is in it: no plan that looks for one entry, whatever the statistics say, can use it.
create index lines_order on lines (limited_id, key, lane_id, at, run_no, (seq::bigint));

-- Those that have one. Whoever gives one back only notes that; the next claim counts it. So an end locks no row that others need.
create table places (
  run_id     uuid not null,
  seq        int not null,
  limited_id int not null,
  since      bigint not null,
  given_back boolean not null default false,
  key        text collate "C" not null,
  primary key (run_id, seq)
) with (vacuum_truncate = false);
create index places_taken on places (limited_id, since) where not given_back;
create index places_back on places (limited_id) where given_back;

-- The last run that was started or changed for each workflow and key, and by which call.
create table debounces (
  namespace text collate "C",
  workflow  text collate "C",
  key       text collate "C",
  run_id    uuid not null,
  call_id   uuid not null,
  primary key (namespace, workflow, key));
create index debounces_run on debounces (run_id);
`;
