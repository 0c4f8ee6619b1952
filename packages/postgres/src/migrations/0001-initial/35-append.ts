export const APPEND = String.raw`
-- The gate of a worker. Appends read the rows of their runs without locking them, so nothing in a row keeps them from being written
-- while the run is taken away. Therefore every flush with appends passes the gate of its worker (a shared advisory lock), and whoever takes
-- held runs away closes it first (exclusive): then nothing of that worker is on its way, and what comes later sees the new epoch.
-- A flush that finds the gate closed does not wait, but locks the rows.
-- Advisory locks belong to the database, which may have several schemas.
create function gate_of(p_worker uuid) returns bigint language sql stable set search_path from current as $$
  select uuid_hash_extended(p_worker, hashtext(current_schema())) $$;

-- Until the end of the transaction. Waits for flushes on their way, in the order of the gates; false: one takes too long, and none is
-- closed. What is read next must be read by a statement of its own, with a snapshot from behind the gate.
create function close_gates(p_workers uuid[]) returns boolean language plpgsql volatile set lock_timeout = '800ms' as $$
begin
  perform pg_advisory_xact_lock(g.gate) from (select distinct gate_of(w.id) as gate from unnest(p_workers) w(id)
                                               where w.id is not null order by 1) g;
  return true;
exception when lock_not_available then return false;
end $$;

-- How many events a run has that is being taken from its holder, behind the gate. The row knows of those of the last commit that
-- changed it.
create function last_seq(p_no bigint, p_count int) returns int language plpgsql volatile as $$
declare v_last int;
begin
  v_last := greatest(p_count, (select e.seq from events e where e.run_no = p_no order by e.seq desc limit 1));
  -- The transaction of an application may have an older snapshot. The key tells whether there are events that it does not see.
  if current_setting('transaction_isolation') <> 'read committed' then
    begin
      insert into events (run_no, seq, type, at) values (p_no, v_last + 1, 0, 0);
    exception when unique_violation then
      raise exception 'could not serialize access: a run has recorded something since' using errcode = '40001';
    end;
    delete from events e where e.run_no = p_no and e.seq = v_last + 1;
  end if;
  return v_last;
end $$;

-- Commits that only add events: no row is changed. One entry per run, and events that point at their run by its position, from 1.
create function append_runs(
  w_worker uuid[], w_namespace text[],  -- as in commit_runs
  g_run uuid[], g_by int[], g_epoch int[], g_commit int[],
  g_first int[], g_events int[],  -- the first event of each, and how many there are
  f_i int[], f_seq int[], f_type smallint[], f_op text[], f_at bigint[], f_payload bytea[], f_meta bytea[],
  p_careful boolean,     -- some events may be there already; otherwise that is an error (23505)
  out a_outcome text,    -- per run: w written, l lost, b busy
  out a_delivered text,  -- per run, separated by commas
  out a_now bigint)
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan
set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off as $$
declare v_worker uuid[]; v_open boolean; v_no bigint[]; v_outcome "char"[];
begin
  -- In one order, as they are closed.
  select bool_and(pg_try_advisory_xact_lock_shared(g.gate)) into v_open
    from (select gate_of(w.id) as gate from unnest(w_worker) w(id) order by 1) g;
  a_now := now_ms();
  v_worker := array(
    select coalesce(w.worker_id, '00000000-0000-0000-0000-000000000000')
      from unnest(w_worker, w_namespace) with ordinality as a(worker_id, namespace, k)
      left join workers w on w.worker_id = a.worker_id and w.namespace = a.namespace order by a.k);
  if v_open and not p_careful then
    select array_agg(x.run_no), array_agg(x.outcome), array_to_string(array_agg(x.delivered), ',') into v_no, v_outcome, a_delivered
      from (select r.run_no, case when r.run_no is null then 'l' else 'w' end::"char" as outcome, coalesce(r.delivered, 0) as delivered
              from unnest(g_run, g_by, g_epoch, g_commit) with ordinality as a(run_id, by, epoch, commit_no, i)
              left join runs r on r.run_id = a.run_id and r.epoch = a.epoch and r.commit_no = a.commit_no
               and r.held_by is not distinct from v_worker[a.by] order by a.i) x;
  else
    select x.o_no, x.o_outcome, x.o_delivered into v_no, v_outcome, a_delivered
      from judge_appends(v_worker, g_run, g_by, g_epoch, g_commit, g_first, g_events, f_i, f_seq, f_type, f_op, f_at) x;
  end if;
  insert into events (run_no, seq, type, op, at, payload, meta)
  select v_no[e.i], e.seq, e.type, e.op, e.at, e.payload, e.meta
    from unnest(f_i, f_seq, f_type, f_op, f_at, f_payload, f_meta) as e(i, seq, type, op, at, payload, meta)
   where v_no[e.i] is not null;
  a_outcome := array_to_string(v_outcome, '');
end $$;

-- The same for a call that may be a repetition, or that has found a gate closed: locked rows stand in the way of whoever would take the
-- runs away, and what is there already is found.
create function judge_appends(
  p_worker uuid[], g_run uuid[], g_by int[], g_epoch int[], g_commit int[], g_first int[], g_events int[],
  f_i int[], f_seq int[], f_type smallint[], f_op text[], f_at bigint[],
  out o_no bigint[],     -- those whose events are to be written
  out o_outcome "char"[], out o_delivered text)
language plpgsql volatile as $$
declare v_locked uuid[]; v_some uuid[];
begin
  v_locked := array(select r.run_id from runs r where r.run_id = any (g_run) for no key update skip locked);
  select array_agg(case when x.mine and x.first_seq > x.last then x.run_no end), array_agg(x.outcome),
         array_to_string(array_agg(case when x.mine then x.delivered else 0 end), ','),
         array_agg(x.run_id) filter (where x.mine and x.first_seq <> x.last + 1 and x.first_seq + x.events - 1 > x.last)
    into o_no, o_outcome, o_delivered, v_some
    from (select a.i, a.run_id, a.first_seq, a.events, r.run_no, r.delivered, k.mine,
                 case when r.run_id is null then 'l' when r.run_id <> all (v_locked) then 'b' when k.mine then 'w' else 'l' end::"char" as outcome,
                 case when k.mine then coalesce((select e.seq from events e where e.run_no = r.run_no order by e.seq desc limit 1), 0) end as last
            from unnest(g_run, g_by, g_epoch, g_commit, g_first, g_events) with ordinality
                 as a(run_id, by, epoch, commit_no, first_seq, events, i)
            left join runs r on r.run_id = a.run_id
           cross join lateral (select coalesce(r.run_id = any (v_locked) and r.epoch = a.epoch and r.commit_no = a.commit_no
                                               and r.held_by = p_worker[a.by], false) as mine) k
           order by a.i) x;
  if v_some is not null then
    raise exception 'run %: its events do not follow those that it has', v_some[1] using errcode = 'HF001';
  end if;
  -- Others under the same epoch would be those of a second writer.
  v_some := array(select g_run[e.i] from unnest(f_i, f_seq, f_type, f_op, f_at) as e(i, seq, type, op, at)
                    join runs r on r.run_id = g_run[e.i] join events x on x.run_no = r.run_no and x.seq = e.seq
                   where o_outcome[e.i] = 'w' and o_no[e.i] is null
                     and (x.type <> e.type or x.op is distinct from e.op or x.at <> e.at));
  if cardinality(v_some) > 0 then
    raise exception 'run %: an event that was sent is there, but it is another one', v_some[1] using errcode = 'HF001';
  end if;
end $$;
`;
