/** Where a run comes from, as JSON; null if no other run has started it, and it is no fork. "s" is its row of run_starts. */
export const LINEAGE = `case when s.depth is not null then json_build_object(
         'parent', json_build_object('namespace', s.parent_namespace, 'runId', s.parent_run_id, 'id', s.parent_id), 'op', s.parent_op,
         'root', json_build_object('runId', s.root_run_id, 'id', s.root_id), 'depth', s.depth)
         when s.forked_from is not null then json_build_object(
         'forkedFrom', json_build_object('runId', s.forked_from, 'id', s.forked_from_id)) end`;

/** How many events a run has. Appends do not change its row, "r": while it is held, the events themselves say so. */
export const EVENT_COUNT = `case when r.held_by is null then r.event_count else greatest(r.event_count,
         (select e.seq from events e where e.run_no = r.run_no order by e.seq desc limit 1)) end`;

/** Whose events a reader wants behind a seq, as far as a limit, in order; "r" is the row of the run, which may have the last one. */
export const eventsAfter = (after: string, limit: string): string => `
      select * from (
        (select x.seq, x.type, x.op, x.at, x.payload, x.meta from events x
          where x.run_no = r.run_no and x.seq > ${after} order by x.seq limit ${limit})
        union all
        select r.event_count, r.tail_type, r.tail_op, r.tail_at, r.tail_payload, r.tail_meta
         where r.tail_type is not null and r.event_count > ${after}) y
       order by y.seq limit ${limit}`;

export const TABLES = String.raw`
-- The tables. docs/store-on-postgresql.md explains their shape. Five rules to keep:
-- 1. Columns that a commit changes while the run stays held (commit_no, event_count, consumed, the death counters) are in no
--    index, so that the update is heap-only.
-- 2. What never changes is in run_starts, not in "runs". A row of "runs" is in at most one of runs_due and runs_held.
-- 3. Text in keys is compared byte by byte (collate "C"): fast, and the same on every server and after every upgrade.
-- 4. Tables whose rows come and go keep their empty pages (vacuum_truncate = false): to return them, a vacuum locks the
--    whole table, longer than a commit waits.
-- 5. There are no foreign keys: the functions are the only writers, and a check would lock the run for every event.

create type run_status as enum ('pending', 'running', 'sleeping', 'waiting', 'compensating', 'parked',
  'completed', 'failed', 'canceled', 'terminated', 'timed_out', 'continued', 'moved');
create type worker_status as enum ('online', 'draining', 'offline');
create type task_status as enum ('due', 'held', 'external', 'dead');
create type task_expiry as enum ('timeout', 'start_timeout', 'total_timeout', 'heartbeat', 'cancel', 'crash');

-- The only source of time; tests replace it. Not now(): after waiting for a lock, the time before the wait is too old.
create function now_ms() returns bigint language sql volatile parallel safe as
$$ select floor(extract(epoch from clock_timestamp()) * 1000)::bigint $$;

-- Everything a claim filters on that is fixed when the run is created.
create table lanes (
  lane_id   int generated always as identity primary key,
  namespace text collate "C" not null,
  queue     text collate "C" not null,
  workflow  text collate "C" not null,
  version   text collate "C" not null,
  priority  int not null,
  -- Its queue, if that has limits.
  limited_id int,
  unique (namespace, queue, workflow, version, priority));

create table runs (
  -- An update logs what lies between the first and the last byte that it changes. So what stays comes first and last, with what changes
  -- together in between.
  run_id       uuid primary key with (fillfactor = 70),
  -- The key of its events. It is shorter than the run id, and the events table has the most rows.
  run_no       bigint generated always as identity (cache 20),
  created_at   bigint not null,
  lane_id      int not null,
  epoch        int not null,
  started_at   bigint,
  deadline_at  bigint,
  ended_at     bigint,
  tail_at      bigint,
  held_by      uuid,
  claim_id     uuid,
  -- The literal of a text array: half as long as the array.
  waiting_for  text,
  continued_as uuid,
  compensation text,
  output       bytea,
  error        bytea,
  -- The last event of a run that ended with it: number event_count, in no row of "events". tail_type is null if there is none.
  tail_op      text,
  tail_payload bytea,
  tail_meta    bytea,
  -- The code that has parked the run since it last made progress: identities, the latest first, separated by blanks.
  parked_by    text collate "C",
  tail_type    smallint,
  available_at bigint,
  status       run_status not null,
  commit_no    int not null default 0,
  event_count  int not null default 0,
  delivered    int not null default 0,
  consumed     int not null default 0,
  deaths       smallint not null default 0,
  alone_deaths smallint not null default 0,
  alone        boolean not null default false,
  suspect      boolean not null default false,
  -- Null is "no" in these four, so that a run that has nothing to do with other runs has no byte of them.
  awaited      boolean,  -- the op that started it, or a watcher, is to be told how it ends
  -- And it has to do with more than that op and its own children: watchers, updates of other runs, locks, a queue with limits.
  involved     boolean,
  owes         boolean,  -- it has debts
  has_children boolean   -- or may have some soon
) with (fillfactor = 45, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000,
        autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
create index runs_due on runs (lane_id, suspect, available_at) where available_at is not null;
-- In the order of lists, which walk the newest of each worker: before them are the entries of runs that are no longer held.
create index runs_held on runs (held_by, created_at) where held_by is not null;
create index runs_deadline on runs (deadline_at) where deadline_at is not null and ended_at is null;
create index runs_parked on runs (lane_id, parked_by) where parked_by is not null and ended_at is null;
-- Lists of open runs. Those that are held are in runs_held, and those that were due when they were created, until they begin, are in
-- runs_due, in the same order.
create index runs_open on runs (lane_id, created_at) where held_by is null and ended_at is null
  and (started_at is not null or available_at is null or available_at <> created_at);
create index runs_odd on runs (status, created_at) where status in
  ('parked', 'compensating', 'failed', 'canceled', 'terminated', 'timed_out', 'moved');
-- For retention. Including the status costs nothing: the entry is padded to eight bytes either way.
create index runs_ended on runs (lane_id, status, ended_at) where ended_at is not null;

create table run_starts (
  run_id         uuid primary key,
  -- The first run of its chain. Null: itself.
  chain_id       uuid,
  continued_from uuid,
  created_at     bigint not null,
  lane_id        int not null,
  -- The runs of an id are numbered: the newest has the highest.
  nth            int not null,
  namespace      text collate "C" not null,
  id             text collate "C" not null,
  timeout_ms     bigint,
  -- Null: its run id.
  seed           text,
  input          bytea not null,
  -- Where it comes from; all null if no other run has started it. No op: it was started inside a step.
  parent_namespace text collate "C",
  parent_run_id  uuid,
  parent_id      text collate "C",
  parent_op      text collate "C",
  root_run_id    uuid,
  root_id        text collate "C",
  depth          smallint,
  -- The run that it is a fork of.
  forked_from    uuid,
  forked_from_id text collate "C",
  -- What the limits and the fairness of its queue go by.
  key            text collate "C"
) with (autovacuum_vacuum_insert_scale_factor = 0.1);
-- At most one open run per id: only the newest may be open, and whoever adds one sees that the one before it has ended, and keeps
-- it so. Of two that add one at once, this key lets only one.
create unique index run_starts_id on run_starts (namespace, id, nth);
create index run_starts_chain on run_starts (chain_id, created_at) where continued_from is not null;
-- Ascending, and read backwards: new rows go to the end of the index, where inserting is cheapest. Runs of the same millisecond are
-- sorted by whoever reads them.
create index run_starts_lane on run_starts (lane_id, created_at);

create table run_attributes (run_id uuid primary key, attributes jsonb not null);
create index run_attributes_gin on run_attributes using gin (attributes jsonb_path_ops);

create table events (
  run_no  bigint not null,
  at      bigint not null,
  seq     int not null,
  type    smallint not null,
  op      text,
  payload bytea,
  meta    bytea,
  primary key (run_no, seq)
) with (autovacuum_vacuum_insert_scale_factor = 0.1);

-- Rows stay after they are consumed: they serve deduplication across all runs of a chain. Those without a chain do not: they
-- tell of the ends of other runs, and are deleted when they are consumed. A ninth column would make every row longer.
create table inbox (
  run_id     uuid not null,
  chain_id   uuid,
  at         bigint not null,
  number     int not null,
  kind       text not null,
  name       text not null,
  message_id text collate "C" not null,
  payload    bytea not null,
  primary key (run_id, number)
) with (vacuum_truncate = false);
-- For deduplication, which has the run locked. Ids may be long: their hashes take less.
create index inbox_once on inbox (chain_id, hashtext(message_id)) where chain_id is not null;

-- Everything a claim of tasks filters on. External tasks have a lane as well; nobody claims them.
create table task_lanes (
  lane_id   int generated always as identity primary key,
  namespace text collate "C" not null,
  queue     text collate "C" not null,
  name      text collate "C" not null,
  requires  text[] collate "C" not null,
  priority  int not null,
  limited_id int,
  unique (namespace, queue, name, requires, priority));

-- Tasks that are not finished, and dead letters. Most rows are inserted held and deleted by the next commit of their run: such
-- a row is in two indexes and is never updated, so pages are filled completely.
create table tasks (
  run_id           uuid not null,
  held_by          uuid,
  claim_id         uuid,
  secret           uuid not null,
  created_at       bigint not null,
  available_at     bigint,
  -- When its current attempt began; null before the first.
  began_at         bigint,
  expires_at       bigint,
  timeout_ms       bigint,
  start_timeout_ms bigint,
  total_timeout_ms bigint,
  heartbeat_ms     bigint,
  -- The event that has created it, and the one with its input and options.
  seq              int not null,
  input_seq        int not null,
  lane_id          int not null,
  epoch            int not null,
  attempt          int not null default 1,
  status           task_status not null,
  expires          task_expiry,
  deaths           smallint not null default 0,
  alone_deaths     smallint not null default 0,
  alone            boolean not null default false,
  suspect          boolean not null default false,
  canceled         boolean not null default false,
  fail_on_crash    boolean not null,
  -- By definition; the status says whether it is now.
  external         boolean not null,
  op               text not null,
  -- The call with a token that made it due again, or a dead letter.
  finish_id        text collate "C",
  details          bytea,
  failures         bytea,
  -- In a queue with limits: 1 if it waits for a place, 2 if it has one. And what these go by, if not by the key of the run.
  standing         smallint,
  key              text collate "C",
  primary key (run_id, seq)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000,
        autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0, vacuum_truncate = false);
create index tasks_due on tasks (lane_id, suspect, available_at) where available_at is not null;
create index tasks_held on tasks (held_by) where held_by is not null;
create index tasks_expiring on tasks (expires_at) where expires_at is not null;
-- Lists of what waits for a person: external tasks and dead letters.
create index tasks_kept on tasks (lane_id, status, run_id, seq) where status in ('external', 'dead');

create table workers (
  worker_id        uuid primary key,
  namespace        text collate "C" not null,
  name             text not null,
  host             text,
  pid              int,
  queues           text[] not null,
  workflows        text[] not null,
  tasks            text[],
  labels           jsonb not null,
  about            jsonb not null,
  load             jsonb,
  drain_asked      boolean not null default false,
  -- When the last of its heartbeats was kept, and the number of the counts that it added last.
  logged_at        bigint not null,
  rates_no         int not null default 0,
  status           worker_status not null,
  died             boolean not null default false,
  -- Offline, without runs and without tasks: no sweep needs to check it again.
  emptied          boolean not null default false,
  lease_ms         bigint not null,
  started_at       bigint not null,
  heartbeat_at     bigint not null,
  lease_expires_at bigint not null,
  stopped_at       bigint
) with (fillfactor = 50);
create index workers_list on workers (namespace, started_at, worker_id);
create index workers_unemptied on workers (worker_id) where not emptied;
create index workers_gone on workers (stopped_at) where emptied;

create table worker_log (
  entry_no  bigint generated always as identity primary key,
  namespace text collate "C" not null,
  worker_id uuid not null,
  name      text not null,
  type      text not null,
  at        bigint not null
);
create index worker_log_of on worker_log (namespace, entry_no);
create index worker_log_one on worker_log (worker_id, entry_no);

-- What workers have counted, per minute and workflow.
create table rates (
  namespace text collate "C",
  at        bigint,
  workflow  text collate "C",
  started   bigint not null,
  ended     bigint not null,
  failed    bigint not null,
  retried   bigint not null,
  primary key (namespace, at, workflow)
);
create index rates_at on rates (at);

create table versions (
  namespace     text collate "C",
  workflow      text collate "C",
  version       text collate "C",
  hash          text not null,
  is_default    boolean not null default false,
  share         double precision not null default 0,
  deprecated    boolean not null default false,
  registered_at bigint not null,
  starts        text, -- what its runs have, as JSON
  primary key (namespace, workflow, version));

-- A run as the port sees it, without and with its payloads.
create view lean_rows as
select r.run_id, coalesce(s.chain_id, r.run_id) as chain_id, s.namespace, s.id, l.workflow, l.version, l.queue, l.priority, coalesce(s.seed, s.run_id::text) as seed, r.status, r.epoch,
       r.commit_no, r.held_by, r.claim_id, r.available_at, ${EVENT_COUNT} as event_count, r.delivered, r.consumed, r.deaths,
       r.alone_deaths, r.alone, r.suspect, r.created_at, r.started_at, r.ended_at, r.deadline_at, s.timeout_ms,
       coalesce(a.attributes, '{}') as attributes, coalesce(r.waiting_for::text[], '{}') as waiting_for, r.compensation,
       s.continued_from, r.continued_as, ${LINEAGE} as lineage, s.key
  from runs r
  join run_starts s using (run_id)
  join lanes l on l.lane_id = r.lane_id
  left join run_attributes a using (run_id);
create view run_rows as
select r.run_id, coalesce(s.chain_id, r.run_id) as chain_id, s.namespace, s.id, l.workflow, l.version, l.queue, l.priority, coalesce(s.seed, s.run_id::text) as seed, r.status, r.epoch,
       r.commit_no, r.held_by, r.claim_id, r.available_at, ${EVENT_COUNT} as event_count, r.delivered, r.consumed, r.deaths,
       r.alone_deaths, r.alone, r.suspect, r.created_at, r.started_at, r.ended_at, r.deadline_at, s.timeout_ms,
       coalesce(a.attributes, '{}') as attributes, coalesce(r.waiting_for::text[], '{}') as waiting_for, r.compensation,
       s.continued_from, r.continued_as, s.input, r.output, r.error, ${LINEAGE} as lineage, s.key
  from runs r
  join run_starts s using (run_id)
  join lanes l on l.lane_id = r.lane_id
  left join run_attributes a using (run_id);
-- A task as the port sees it, with what its run asked for.
create view task_rows as
select t.run_id, t.seq, l.namespace, t.input_seq, t.op, l.name, l.queue, l.requires, l.priority, t.status, t.epoch, t.secret,
       t.attempt, t.held_by, t.claim_id, t.available_at, t.expires_at, t.expires, t.canceled, t.deaths, t.alone_deaths, t.alone,
       t.suspect, t.fail_on_crash, t.created_at, t.details, t.failures, e.payload as input, e.meta
  from tasks t
  join task_lanes l using (lane_id)
  left join runs r using (run_id)
  left join events e on e.run_no = r.run_no and e.seq = t.input_seq;
`;
