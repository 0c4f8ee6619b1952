export const CONVERSATIONS = String.raw`
-- What runs have to do with other runs. A run that has nothing to do with any is in none of these tables, and no call reads
-- them for it. Whoever writes debts, watches or the end of a run has the row of that run locked.

-- One row for each run that another one has started, and for each of its continuations; and one for each start that its parent
-- no longer wants.
create table children (
  parent_run_id uuid not null,
  run_id        uuid not null,
  -- Null: there is no such run to list.
  created_at    bigint,
  namespace     text collate "C" not null,
  id            text collate "C" not null,
  policy        text not null,
  -- Nothing is to be done when the parent ends: its policy has reached the child, says nothing, or concerns an earlier run of
  -- the chain. Whether the chain of a child has ended is not noted here: nobody but its parent writes this row.
  closed        boolean not null,
  given_up      boolean not null default false,
  primary key (parent_run_id, run_id)
) with (vacuum_truncate = false);
create index children_list on children (parent_run_id, created_at, run_id) where created_at is not null;

-- The forks of runs. An index of run_starts would be looked at by every start, and by the planner.
create table forks (
  origin_run_id uuid not null,
  created_at    bigint not null,
  run_id        uuid not null,
  namespace     text collate "C" not null,
  id            text collate "C" not null,
  primary key (origin_run_id, created_at, run_id)
) with (vacuum_truncate = false);

-- What runs owe to others, at most one of each kind: written with what caused it, and deleted when it is paid.
create table debts (
  run_id  uuid not null,
  debt_no bigint generated always as identity,
  at      bigint not null,
  kind    text not null,
  primary key (run_id, kind)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
        vacuum_truncate = false);
create index debts_age on debts (debt_no);

-- Ops of runs that are to be told of the end of a chain.
create table watches (
  chain_id  uuid not null,
  run_id    uuid not null,
  op        text collate "C" not null,
  namespace text collate "C" not null,
  primary key (chain_id, run_id, op)
) with (vacuum_truncate = false);

-- What updates have besides their message: which op of which run gets the answer, as JSON, until it
-- was told; and the answer, in an event of the run
-- that has the update, or as an error. An update without either has no row.
create table replies (
  run_id   uuid not null,
  number   int not null,
  seq      int,
  reply_to text,
  error    bytea,
  primary key (run_id, number)
) with (vacuum_truncate = false);

-- Requests for locks, in the order in which they were made: granted, if they have a fence. One that was given back stays until the
-- lock is passed on. Whoever changes one has the row of its run locked; pass_locks, which grants them and deletes those that were
-- given back, has also locked the name.
create table locks (
  run_id     uuid not null,
  seq        int not null,
  places     int not null,
  lock_no    bigint generated always as identity,
  fence      bigint,
  -- The newest epoch in which a holder of the run was told that the request waits: what comes later, comes as a message.
  waits_since int,
  given_back boolean not null default false,
  namespace  text collate "C" not null,
  name       text collate "C" not null,
  op         text collate "C" not null,
  primary key (run_id, seq)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
        vacuum_truncate = false);
create index locks_waiting on locks (namespace, name, lock_no) where fence is null and not given_back;
create index locks_held on locks (namespace, name, lock_no) where fence is not null and not given_back;
create index locks_back on locks (namespace, name) where given_back;
create sequence lock_fences;

-- Namespaces that have let in runs of others.
create table namespaces (
  name   text collate "C",
  allows text collate "C",
  primary key (name, allows));

-- Queries that wait for a worker. Not logged: nobody needs them after a crash of the server.
create unlogged table asks (
  ask_id    uuid primary key,
  ask_no    bigint generated always as identity,
  run_id    uuid not null,
  gone_at   bigint not null,
  open_at   bigint not null,
  namespace text collate "C" not null,
  workflow  text collate "C" not null,
  version   text collate "C" not null,
  name      text not null,
  payload   bytea not null,
  answered  boolean not null default false,
  answer    bytea,
  error     bytea
) with (vacuum_truncate = false);
create index asks_open on asks (namespace, ask_no) where not answered;
create index asks_gone on asks (gone_at);

-- isResult (model/message.ts): for the very run whose op waits for it.
create function is_result(p_kind text) returns boolean language sql immutable as $$
  select p_kind in ('task_completed', 'task_failed', 'child_completed', 'child_failed', 'watch_completed', 'watch_failed',
    'reply_completed', 'reply_failed', 'lock_granted') $$;

-- Whether it tells of the end of another run, answers an update, or grants a lock: its id is not remembered.
create function is_run_end(p_kind text) returns boolean language sql immutable as $$
  select p_kind in ('child_completed', 'child_failed', 'watch_completed', 'watch_failed', 'reply_completed', 'reply_failed', 'lock_granted') $$;

-- Whether runs of the other namespace may reach runs of this one. No other: nobody's.
create function is_let_in(p_namespace text, p_other text) returns boolean language sql stable as $$
  select (select 1 from namespaces n where n.name = p_namespace and n.allows = p_other limit 1) is not null $$;

-- A function without a query of its own, so that the planner puts its text in the place of the call.
create function is_allowed(p_namespace text, p_other text) returns boolean language sql stable as $$
  select p_other is null or p_other = p_namespace or is_let_in(p_namespace, p_other) $$;

create function allow_namespace(p_namespace text, p_other text) returns void
language plpgsql volatile security definer set search_path from current as $$
begin
  insert into namespaces (name, allows) values (p_namespace, p_other) on conflict do nothing;
end $$;

create function disallow_namespace(p_namespace text, p_other text) returns void
language plpgsql volatile security definer set search_path from current as $$
begin
  delete from namespaces n where n.name = p_namespace and n.allows = p_other;
end $$;
`;
