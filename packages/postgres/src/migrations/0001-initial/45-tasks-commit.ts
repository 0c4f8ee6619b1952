export const TASKS_COMMIT = String.raw`
-- What commits do to tasks. Tasks are created by the commits of their run and by nothing else; the holder of a run may delete
-- them whoever holds them. Locks: the row of the run first, then the rows of its tasks. The functions that change tasks
-- without their run wait for nothing.

-- The earliest limit of a task, and which one that is; of two limits that pass at once, the one that comes first here. These
-- are model/decisions/task.ts in SQL. p_grace: a worker reports a limit that has passed itself; only one that does not is
-- expired by a sweep, this much later. Nobody watches over an external task but the store: it has no grace.
create function task_grace(p_external boolean) returns bigint language sql immutable as
$$ select case when p_external then 0 else 5000 end::bigint $$;

create function due_expires_at(p_available bigint, p_start bigint, p_created bigint, p_total bigint)
returns bigint language sql immutable as $$ select least(p_available + p_start, p_created + p_total) $$;

create function due_expires(p_available bigint, p_start bigint, p_created bigint, p_total bigint)
returns task_expiry language sql immutable as $$
  select case least(p_available + p_start, p_created + p_total)
         when p_available + p_start then 'start_timeout' when p_created + p_total then 'total_timeout' end::task_expiry $$;

create function held_expires_at(p_since bigint, p_timeout bigint, p_heard bigint, p_heartbeat bigint, p_grace bigint,
  p_created bigint, p_total bigint)
returns bigint language sql immutable as $$
  select least(p_since + p_timeout + p_grace, p_heard + p_heartbeat + p_grace, p_created + p_total) $$;

create function held_expires(p_since bigint, p_timeout bigint, p_heard bigint, p_heartbeat bigint, p_grace bigint,
  p_created bigint, p_total bigint)
returns task_expiry language sql immutable as $$
  select case least(p_since + p_timeout + p_grace, p_heard + p_heartbeat + p_grace, p_created + p_total)
         when p_since + p_timeout + p_grace then 'timeout' when p_heard + p_heartbeat + p_grace then 'heartbeat'
         when p_created + p_total then 'total_timeout' end::task_expiry $$;

-- Locks the tasks that go with a flush. A run of which another transaction has locked a task is out.
create function unless_tasks_locked(p_ok boolean[], p_run uuid[], s_i int[], s_seq int[], d_i int[])
returns boolean[] language plpgsql volatile as $$
declare v_rows tid[]; v_busy int[];
begin
  v_rows := array(select t.ctid from unnest(s_i, s_seq) as s(i, seq) join tasks t on t.run_id = p_run[s.i] and t.seq = s.seq
                   where p_ok[s.i] for update of t skip locked)
         || array(select t.ctid from unnest(d_i) as d(i) join tasks t on t.run_id = p_run[d.i]
                   where p_ok[d.i] and t.status <> 'dead' for update of t skip locked);
  -- Those that are left, with a new snapshot. No commit can have added any: the run is locked.
  v_busy := array(
    select s.i from unnest(s_i, s_seq) as s(i, seq) join tasks t on t.run_id = p_run[s.i] and t.seq = s.seq
     where p_ok[s.i] and t.ctid <> all (v_rows)
    union all
    select d.i from unnest(d_i) as d(i) join tasks t on t.run_id = p_run[d.i]
     where p_ok[d.i] and t.status <> 'dead' and t.ctid <> all (v_rows));
  return array(select k.ok and k.i <> all (v_busy) from unnest(p_ok) with ordinality as k(ok, i) order by k.i);
end $$;

-- Deletes the tasks that go with a flush, for the runs that passed. Returns the hints for their holders, except for the
-- workers whose flush this is.
create function settle_tasks(
  p_run uuid[], v_no bigint[], v_worker uuid[], p_by int[], s_i int[], s_seq int[], d_i int[])
returns text[] language plpgsql volatile as $$
declare v_lines text[]; v_run uuid[]; v_seq int[];
begin
  with settled as (
    delete from tasks t using unnest(s_i, s_seq) as s(i, seq)
     where v_no[s.i] is not null and t.run_id = p_run[s.i] and t.seq = s.seq
    returning t.held_by, t.run_id, t.seq, t.held_by = v_worker[p_by[s.i]] as own, t.standing
  )
  select task_lines(array_agg(g.held_by) filter (where not g.own), array_agg(g.run_id) filter (where not g.own),
                    array_agg(g.seq) filter (where not g.own)),
         array_agg(g.run_id) filter (where g.standing > 0), array_agg(g.seq) filter (where g.standing > 0)
    into v_lines, v_run, v_seq from settled g where g.held_by is not null or g.standing > 0;
  if cardinality(d_i) > 0 then
    -- A new statement: what is settled and dropped at once is gone by now.
    with dropped as (
      delete from tasks t using unnest(d_i) as d(i)
       where v_no[d.i] is not null and t.run_id = p_run[d.i] and t.status <> 'dead'
      returning t.held_by, t.run_id, t.seq, t.held_by = v_worker[p_by[d.i]] as own, t.standing
    )
    select v_lines || task_lines(array_agg(g.held_by) filter (where not g.own), array_agg(g.run_id) filter (where not g.own),
                                 array_agg(g.seq) filter (where not g.own)),
           v_run || array_agg(g.run_id) filter (where g.standing > 0), v_seq || array_agg(g.seq) filter (where g.standing > 0)
      into v_lines, v_run, v_seq from dropped g where g.held_by is not null or g.standing > 0;
  end if;
  if v_run is not null then v_lines := v_lines || give_places_back(v_run, v_seq); end if;
  return v_lines;
end $$;

-- All tasks of these runs go, except dead letters. Returns the hints for their holders.
create function drop_tasks(p_run uuid[]) returns text[] language plpgsql volatile
set enable_seqscan = off set enable_bitmapscan = off as $$
declare v_lines text[]; v_run uuid[]; v_seq int[];
begin
  with gone as (
    delete from tasks t where t.run_id = any (p_run) and t.status <> 'dead' returning t.held_by, t.run_id, t.seq, t.standing
  )
  select task_lines(array_agg(g.held_by) filter (where g.held_by is not null), array_agg(g.run_id) filter (where g.held_by is not null),
                    array_agg(g.seq) filter (where g.held_by is not null)),
         array_agg(g.run_id) filter (where g.standing > 0), array_agg(g.seq) filter (where g.standing > 0)
    into v_lines, v_run, v_seq from gone g where g.held_by is not null or g.standing > 0;
  if v_run is not null then v_lines := v_lines || give_places_back(v_run, v_seq); end if;
  return v_lines;
end $$;

-- Creates tasks for the runs that passed. A task is held from the beginning if that worker is not offline. The run's own
-- holder needs no lock on its row: every snapshot sees its hold on the run or on the task, so no sweep finds it empty. Any
-- other worker is locked as by a claim; if its row is locked, the task is due instead.
create function add_tasks(
  p_run uuid[], v_no bigint[], v_outcome "char"[], v_worker uuid[], w_namespace text[], p_by int[], p_now bigint,
  t_i int[], t_seq int[], t_input_seq int[], t_op text[], t_lane int[], t_external boolean[], t_fail_on_crash boolean[],
  t_secret uuid[], t_timeout bigint[], t_start_timeout bigint[], t_total_timeout bigint[], t_heartbeat bigint[],
  t_hold_by uuid[], t_claim uuid[], t_key text[],
  out o_held int[],      -- positions
  out o_lines text[])
language plpgsql volatile as $$
declare v_live text[]; v_others uuid[]; v_again int[];
begin
  if cardinality(t_hold_by) > 0 then
    v_others := array(select distinct t.hold_by from unnest(t_i, t_hold_by) as t(i, hold_by)
                       where v_no[t.i] is not null and t.hold_by <> v_worker[p_by[t.i]]);
    v_live := array(select w.worker_id || w.namespace from workers w
                     where w.worker_id = any (v_worker) and w.worker_id <> all (v_others) and w.status <> 'offline')
           || array(select w.worker_id || w.namespace from workers w
                     where w.worker_id = any (v_others) and w.status <> 'offline' for key share skip locked);
  end if;
  with fresh as materialized (
    select t.*, coalesce(not t.external and t.hold_by || w_namespace[p_by[t.i]] = any (v_live)
             -- In a queue with limits it is held when it gets a place.
             and (select n.limited_id from task_lanes n where n.lane_id = t.lane_id) is null, false) as hold
      from unnest(t_i, t_seq, t_input_seq, t_op, t_lane, t_external, t_fail_on_crash, t_secret, t_timeout, t_start_timeout,
                  t_total_timeout, t_heartbeat, t_hold_by, t_claim) with ordinality
           as t(i, seq, input_seq, op, lane_id, external, fail_on_crash, secret, timeout, start_timeout, total_timeout,
                heartbeat, hold_by, claim_id, k)
     where v_no[t.i] is not null
  ), added as (
    insert into tasks (run_id, seq, input_seq, op, lane_id, external, fail_on_crash, secret, timeout_ms, start_timeout_ms,
                       total_timeout_ms, heartbeat_ms, created_at, status, epoch, held_by, claim_id, available_at, began_at,
                       expires_at, expires, key)
    select p_run[f.i], f.seq, f.input_seq, f.op, f.lane_id, f.external, f.fail_on_crash, f.secret, f.timeout, f.start_timeout,
           f.total_timeout, f.heartbeat, p_now,
           case when f.external then 'external' when f.hold then 'held' else 'due' end::task_status, f.hold::int,
           case when f.hold then f.hold_by end, case when f.hold then f.claim_id end,
           case when not f.external and not f.hold then p_now end, case when f.external or f.hold then p_now end,
           case when f.external or f.hold
                then held_expires_at(p_now, f.timeout, p_now, f.heartbeat, task_grace(f.external), p_now, f.total_timeout)
                else due_expires_at(p_now, f.start_timeout, p_now, f.total_timeout) end,
           case when f.external or f.hold
                then held_expires(p_now, f.timeout, p_now, f.heartbeat, task_grace(f.external), p_now, f.total_timeout)
                else due_expires(p_now, f.start_timeout, p_now, f.total_timeout) end, t_key[f.k]
      from fresh f
  )
  select array_agg(f.k::int) filter (where f.hold),
         due_task_lines(array_agg(f.lane_id) filter (where not f.hold and not f.external),
                        array_agg(p_now) filter (where not f.hold and not f.external), p_now)
    into o_held, o_lines from fresh f;
  -- Those of a flush that was written before.
  if cardinality(t_hold_by) > 0 and array_position(v_no, null) is not null then
    v_again := array(
      select t.k from unnest(t_i, t_seq, t_hold_by, t_claim) with ordinality as t(i, seq, hold_by, claim_id, k)
       cross join lateral (select x.held_by, x.claim_id, x.epoch from tasks x
                            where x.run_id = p_run[t.i] and x.seq = t.seq limit 1) x
       where v_no[t.i] is null and v_outcome[t.i] = 'w' and x.held_by = t.hold_by and x.claim_id = t.claim_id and x.epoch = 1);
    o_held := o_held || v_again;
  end if;
end $$;
`;
