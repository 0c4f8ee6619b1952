import { ACCESS } from "./0001-access.ts";
import { LIMITS } from "./0001-limits.ts";

/**
 * The first schema. The reasons for its shape:
 *
 * - Every table's name begins with `holdfast_`, so that the tables can share a file with the application's own.
 * - Internally, a run is an integer (`run_key`), assigned in the order of creation: runs that are live at the same time are
 *   neighbors, and a flush of 500 runs rewrites about 15 pages of `holdfast_runs`.
 * - Events are appended under a key of their own and found by (run_key, seq) through an index. A table clustered on
 *   (run_key, seq) dirties a page per run: bench/schema.ts measures both.
 * - A commit that keeps the run held changes no indexed column. Payloads are not in the rows that are rewritten.
 * - `holdfast_runs_due` begins with everything a claim filters on. Namespace, queue, workflow, version and priority never
 *   change, so they are interned as a lane. Finding the head of a lane is one probe, no matter how many runs sleep.
 * - Most tasks are inserted as held, and deleted by the next commit of their run. Their table stays small, so it is clustered
 *   on the key, which is also the order of lists: such a task is one entry there, one in `holdfast_tasks_held`, and one in
 *   `holdfast_tasks_expiry` if it has a time limit.
 * - Results have no chain: they are not remembered, so `holdfast_inbox_message` leaves them out.
 * - What a run has to do with other runs is in tables of its own: one that has nothing to do with others has no row in any of
 *   them, and pays one byte for `ties` being null. The bits of `ties` say in which of them to look.
 * - Debts are numbered by `autoincrement`: the number of a paid debt is never given to another one.
 */
import { TRANSFERS } from "./0001-transfers.ts";
import { WORKERS } from "./0001-workers.ts";

export const INITIAL = `
create table holdfast_names (
  name_key integer primary key,
  name     text not null unique
) strict;

create table holdfast_lanes (
  lane_id    integer primary key,
  namespace  text not null,
  queue      text not null,
  workflow   text not null,
  version    text not null,
  priority   integer not null,
  limited_id integer,
  unique (namespace, queue, workflow, version, priority)
) strict;

create table holdfast_runs (
  run_key       integer primary key,
  run_id        blob not null unique,
  chain_key     integer,
  lane_id       integer not null,
  namespace_key integer not null,
  workflow_key  integer not null,
  status        integer not null,
  epoch         integer not null,
  commit_no     integer not null,
  event_count   integer not null,
  delivered     integer not null,
  consumed      integer not null,
  held_by       integer,
  claim_id      blob,
  available_at  integer,
  created_at    integer not null,
  started_at    integer,
  ended_at      integer,
  deadline_at   integer,
  deaths        integer not null,
  alone_deaths  integer not null,
  alone         integer not null,
  suspect       integer not null,
  waiting_for   text,
  attributes    text,
  parked_by     text,
  ties          integer
) strict;
create index holdfast_runs_due on holdfast_runs (lane_id, suspect, available_at) where available_at is not null;
create index holdfast_runs_held on holdfast_runs (held_by) where held_by is not null;
create index holdfast_runs_deadline on holdfast_runs (deadline_at) where deadline_at is not null and ended_at is null;
create index holdfast_runs_parked on holdfast_runs (lane_id, parked_by) where parked_by is not null and ended_at is null;
create index holdfast_runs_time on holdfast_runs (namespace_key, created_at);
create index holdfast_runs_status on holdfast_runs (namespace_key, status, created_at);
create index holdfast_runs_workflow on holdfast_runs (namespace_key, workflow_key, created_at);
create index holdfast_runs_ended on holdfast_runs (namespace_key, status, ended_at) where ended_at is not null;

create table holdfast_run_starts (
  run_key        integer primary key,
  namespace_key  integer not null,
  id             text not null,
  seed           text not null,
  first_run_id   blob,
  continued_from blob,
  timeout_ms     integer,
  input          blob not null
) strict;
create index holdfast_run_starts_id on holdfast_run_starts (namespace_key, id);
create index holdfast_run_starts_chain on holdfast_run_starts (first_run_id) where first_run_id is not null;

create table holdfast_run_ends (
  run_key      integer primary key,
  continued_as blob,
  compensation text,
  error        text,
  output       blob,
  -- The last event of a run that ended with it, if it is in no row of holdfast_events.
  tail_seq     integer,
  tail_type    integer,
  tail_at      integer,
  tail_op      text,
  tail_meta    text,
  tail_payload blob
) strict;

-- For searching only; attributes are read from holdfast_runs.attributes.
create table holdfast_attributes (
  run_key integer not null,
  name    text not null,
  value   text not null,
  primary key (run_key, name)
) strict, without rowid;
create index holdfast_attributes_value on holdfast_attributes (name, value);

create table holdfast_events (
  event_key integer primary key,
  run_key   integer not null,
  seq       integer not null,
  type      integer not null,
  at        integer not null,
  op        text,
  meta      text,
  payload   blob
) strict;
create unique index holdfast_events_seq on holdfast_events (run_key, seq);

-- Packed copies of closed stretches of long histories. The row that ends at 0 is no segment: its sum says how many times segments
-- of the run were dropped.
create table holdfast_segments (
  segment_key integer primary key,
  run_key     integer not null,
  first_seq   integer not null,
  last_seq    integer not null,
  sum         integer not null,
  bytes       blob not null
) strict;
create unique index holdfast_segments_run on holdfast_segments (run_key, last_seq);

create table holdfast_inbox (
  message_key integer primary key,
  run_key     integer not null,
  number      integer not null,
  chain_key   integer,
  at          integer not null,
  kind        text not null,
  name        text not null,
  message_id  text not null,
  payload     blob not null
) strict;
create unique index holdfast_inbox_number on holdfast_inbox (run_key, number);
create index holdfast_inbox_message on holdfast_inbox (chain_key, message_id) where chain_key is not null;

-- Updates that a run is to answer to another run, or has answered.
create table holdfast_updates (
  run_key         integer not null,
  number          integer not null,
  reply_namespace text,
  reply_run_id    blob,
  reply_op        text,
  answer_seq      integer,
  answer_error    text,
  primary key (run_key, number)
) strict, without rowid;

-- Where runs come from that other runs have started, and their continuations.
create table holdfast_lineages (
  run_key          integer primary key,
  parent_key       integer not null,
  created_at       integer not null,
  depth            integer not null,
  parent_run_id    blob not null,
  root_run_id      blob not null,
  parent_namespace text not null,
  parent_id        text not null,
  root_id          text not null,
  op               text
) strict;
create index holdfast_lineages_parent on holdfast_lineages (parent_key, created_at);

-- Which runs are forks, and of which other ones.
create table holdfast_forks (
  run_key       integer primary key,
  created_at    integer not null,
  origin_run_id blob not null,
  origin_id     text not null
) strict;
create index holdfast_forks_origin on holdfast_forks (origin_run_id, created_at);

-- The children of a run, by the first run of their chain, and starts that it does not want any more.
create table holdfast_children (
  child_key  integer primary key,
  parent_key integer not null,
  run_id     blob not null,
  namespace  text not null,
  policy     integer not null,
  given_up   integer not null,
  to_close   integer
) strict;
create unique index holdfast_children_run on holdfast_children (parent_key, run_id);
create index holdfast_children_to_close on holdfast_children (parent_key, to_close) where to_close is not null;

create table holdfast_watches (
  watch_key integer primary key,
  chain_key integer not null,
  run_id    blob not null,
  namespace text not null,
  op        text not null
) strict;
create unique index holdfast_watches_watcher on holdfast_watches (chain_key, run_id, op);
create index holdfast_watches_chain on holdfast_watches (chain_key);

create table holdfast_debts (
  debt_no integer primary key autoincrement,
  run_key integer not null,
  kind    integer not null,
  at      integer not null
) strict;
create index holdfast_debts_run on holdfast_debts (run_key);
create index holdfast_debts_at on holdfast_debts (at);

create table holdfast_namespaces (
  name   text not null,
  allows text not null,
  primary key (name, allows)
) strict, without rowid;

create table holdfast_asks (
  ask_key   integer primary key,
  ask_id    blob not null unique,
  run_id    blob not null,
  open_at   integer not null,
  gone_at   integer not null,
  answered  integer not null,
  namespace text not null,
  workflow  text not null,
  version   text not null,
  name      text not null,
  payload   blob not null,
  answer    blob,
  error     text
) strict;
create index holdfast_asks_open on holdfast_asks (namespace, workflow, version) where answered = 0;
create index holdfast_asks_gone on holdfast_asks (gone_at);

-- Requests for locks, in the order in which they were made: granted, if they have a fence. One that was given back stays until
-- the lock is passed on.
create table holdfast_locks (
  lock_no    integer primary key,
  run_key    integer not null,
  seq        integer not null,
  places     integer not null,
  fence      integer,
  given_back integer not null default 0,
  -- The newest epoch in which a holder of the run was told that the request waits: what comes later, comes as a message.
  waits_since integer,
  namespace  text not null,
  name       text not null,
  op         text not null,
  unique (run_key, seq)
) strict;
create index holdfast_locks_held on holdfast_locks (namespace, name, lock_no) where fence is not null and given_back = 0;
create index holdfast_locks_waiting on holdfast_locks (namespace, name, lock_no) where fence is null and given_back = 0;
create index holdfast_locks_back on holdfast_locks (namespace, name) where given_back = 1;

-- One row: the newest fence.
create table holdfast_fences (
  fence_key integer primary key,
  fence     integer not null
) strict;

create table holdfast_task_lanes (
  lane_id    integer primary key,
  namespace  text not null,
  queue      text not null,
  name       text not null,
  requires   text not null,
  priority   integer not null,
  limited_id integer,
  unique (namespace, queue, name, requires, priority)
) strict;

create table holdfast_tasks (
  run_id           blob not null,
  seq              integer not null,
  lane_id          integer not null,
  status           integer not null,
  epoch            integer not null,
  attempt          integer not null,
  held_by          integer,
  claim_id         blob,
  available_at     integer,
  expires_at       integer,
  expires          integer,
  began_at         integer,
  created_at       integer not null,
  canceled         integer not null,
  deaths           integer not null,
  alone_deaths     integer not null,
  alone            integer not null,
  suspect          integer not null,
  external         integer not null,
  fail_on_crash    integer not null,
  timeout_ms       integer,
  start_timeout_ms integer,
  total_timeout_ms integer,
  heartbeat_ms     integer,
  input_seq        integer not null,
  op               text not null,
  secret           text not null,
  finish_id        text,
  failures         text,
  details          blob,
  place            integer,
  key              text,
  primary key (run_id, seq)
) strict, without rowid;
create index holdfast_tasks_due on holdfast_tasks (lane_id, suspect, available_at) where available_at is not null;
create index holdfast_tasks_held on holdfast_tasks (held_by, canceled) where held_by is not null;
create index holdfast_tasks_expiry on holdfast_tasks (expires_at) where expires_at is not null;
-- Lists of what waits for a person: external tasks and dead letters.
create index holdfast_tasks_kept on holdfast_tasks (lane_id, status, run_id, seq) where status >= 3;

${WORKERS}
create table holdfast_versions (
  version_key   integer primary key,
  namespace     text not null,
  workflow      text not null,
  version       text not null,
  hash          text not null,
  is_default    integer not null,
  share         real not null,
  deprecated    integer not null,
  registered_at integer not null,
  starts        text, -- what its runs have, as JSON
  unique (namespace, workflow, version)
) strict;

-- Of a schedule, what its index and the leader need is repeated in columns: next_at, waits, failures and open_id are in state, too.
create table holdfast_schedules (
  namespace  text not null,
  id         text not null,
  revision   blob not null,
  created_at integer not null,
  next_at    integer,
  waits      integer not null,
  failures   integer not null,
  open_id    text,
  definition text not null,
  state      text not null,
  input      blob not null,
  decisions  text not null,
  primary key (namespace, id)
) strict;
create index holdfast_schedules_due on holdfast_schedules (next_at, namespace, id) where next_at is not null;
create index holdfast_schedules_waiting on holdfast_schedules (namespace, id) where waits > 0;

create table holdfast_retention (
  namespace text primary key,
  rules     text not null
) strict, without rowid;

create table holdfast_leader (
  one        integer primary key check (one = 1),
  worker_key integer not null,
  since      integer not null
) strict;

create table holdfast_hints (
  number integer primary key,
  source integer not null,
  hints  text not null
) strict;
${LIMITS}${TRANSFERS}${ACCESS}`;
