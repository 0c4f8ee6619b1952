/** The part of the first schema that is about queues with limits. */
export const LIMITS = `
-- Queues with limits: one row for runs, one for tasks. The lanes of such a queue name it, so that no other claim looks here.
create table holdfast_limited (
  limited_id   integer primary key,
  kind         text not null,
  namespace    text not null,
  queue        text not null,
  limits       text not null,
  running      integer not null,
  tokens       real,
  tokens_at    integer,
  awaited      integer not null default 0,
  virtual_time real not null,
  per_second   real not null,
  pace_at      integer not null,
  unique (namespace, queue, kind)
) strict;

-- Of every queue whose limits were ever set, also of those that have none any more.
create table holdfast_queue_revisions (
  namespace text not null,
  queue     text not null,
  revision  blob not null,
  primary key (namespace, queue)
) strict, without rowid;

-- Keys with something in line or in progress, or with a bucket that is not full. wake_at: when one that is not ready will be by itself.
create table holdfast_limited_keys (
  limited_id   integer not null,
  key          text not null,
  running      integer not null,
  tokens       real,
  tokens_at    integer,
  awaited      integer not null default 0,
  virtual_time real not null,
  ready        integer not null,
  wake_at      integer,
  primary key (limited_id, key)
) strict, without rowid;
create index holdfast_limited_keys_ready on holdfast_limited_keys (limited_id, virtual_time, key) where ready = 1;
create index holdfast_limited_keys_wake on holdfast_limited_keys (limited_id, wake_at) where wake_at is not null;

-- Runs (seq 0) and tasks that wait for a place. Of those that are due since the same time, the run that was started first comes first.
create table holdfast_lines (
  limited_id integer not null,
  key        text not null,
  lane_id    integer not null,
  at         integer not null,
  run_key    integer not null,
  seq        integer not null,
  run_id     blob not null,
  primary key (limited_id, key, lane_id, at, run_key, seq)
) strict, without rowid;
create unique index holdfast_lines_entry on holdfast_lines (run_id, seq);

-- Those that have one.
create table holdfast_places (
  run_id     blob not null,
  seq        integer not null,
  limited_id integer not null,
  key        text not null,
  since      integer not null,
  primary key (run_id, seq)
) strict, without rowid;
create index holdfast_places_limited on holdfast_places (limited_id, since, run_id, seq);

-- The last run that was started or changed for each workflow and key, and by which call.
create table holdfast_debounces (
  namespace text not null,
  workflow  text not null,
  key       text not null,
  run_id    blob not null,
  call_id   blob not null,
  primary key (namespace, workflow, key)
) strict, without rowid;
create index holdfast_debounces_run on holdfast_debounces (run_id);

-- The keys of runs that have one.
create table holdfast_run_keys (
  run_key integer primary key,
  key     text not null
) strict;
`;
