export const WORKERS = String.raw`
create function log_worker(p_worker uuid, p_type text, p_now bigint) returns void language sql volatile as $$
  insert into worker_log (namespace, worker_id, name, type, at)
  select w.namespace, w.worker_id, w.name, p_type, p_now from workers w where w.worker_id = p_worker $$;

create function register_worker(
  p_worker uuid, p_namespace text, p_name text, p_host text, p_pid int, p_queues text[], p_workflows text[], p_tasks text[],
  p_labels text, p_about text,
  p_lease_ms bigint, p_coordinates boolean, p_notify boolean, out o_live boolean, out o_now bigint, out o_namesakes uuid[],
  out o_pids int[], out o_leads boolean, out o_next_at bigint, out o_waiting boolean, out o_retains boolean, out o_hints text)
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
begin
  -- Two that sign on at the same time under one name: the second one hears of the first.
  if p_host is not null then
    perform pg_advisory_xact_lock(hashtextextended(concat_ws(E'\n', current_schema() || '.workers', p_namespace, p_host, p_name), 0));
  end if;
  o_now := now_ms();
  insert into workers (worker_id, namespace, name, host, pid, queues, workflows, tasks, labels, about, status, lease_ms, logged_at,
                       started_at, heartbeat_at, lease_expires_at)
  values (p_worker, p_namespace, p_name, p_host, p_pid, p_queues, p_workflows, p_tasks, p_labels::jsonb, p_about::jsonb, 'online',
          p_lease_ms, o_now, o_now, o_now, o_now + p_lease_ms)
  on conflict (worker_id) do nothing;
  if found then perform log_worker(p_worker, 'started', o_now); end if;
  select w.status <> 'offline' and w.namespace = p_namespace into o_live from workers w where w.worker_id = p_worker;
  select coalesce(array_agg(w.worker_id order by w.worker_id), '{}'), coalesce(array_agg(w.pid order by w.worker_id), '{}')
    into o_namesakes, o_pids from workers w
   where not w.emptied and w.status <> 'offline' and w.namespace = p_namespace and w.host = p_host and w.name = p_name
     and w.worker_id <> p_worker;
  if o_live then
    select l.o_leads, l.o_next_at, l.o_waiting, l.o_retains, l.o_hints into o_leads, o_next_at, o_waiting, o_retains, o_hints
      from lead(p_worker, p_coordinates, o_now, p_notify) l;
  end if;
end $$;

-- Bitmap scans would not mark the index entries of what is no longer held as dead, and so read them again at every heartbeat.
create function heartbeat_worker(
  p_namespace text, p_worker uuid, p_lease_ms bigint, p_draining boolean, p_load text, p_coordinates boolean, p_notify boolean,
  out o_live boolean, out o_now bigint, out o_held int, out o_behind uuid[],
  out o_tasks int, out o_canceled_run uuid[], out o_canceled_seq int[], out o_canceled_epoch int[],
  out o_drain boolean, out o_leads boolean, out o_next_at bigint, out o_waiting boolean, out o_retains boolean, out o_hints text)
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan set enable_bitmapscan = off as $$
declare v_was worker_status; v_keep boolean;
begin
  o_now := now_ms();
  -- 600 s: HEARTBEAT_KEPT_EVERY_MS.
  select w.status, o_now - w.logged_at >= 600000, w.drain_asked into v_was, v_keep, o_drain from workers w
   where w.worker_id = p_worker and w.namespace = p_namespace and w.status <> 'offline' for no key update;
  update workers w set heartbeat_at = o_now, lease_expires_at = o_now + p_lease_ms, lease_ms = p_lease_ms,
      status = case when p_draining then 'draining' else 'online' end::worker_status,
      load = coalesce(p_load::jsonb, w.load), logged_at = case when v_keep then o_now else w.logged_at end
   where w.worker_id = p_worker and w.namespace = p_namespace and w.status <> 'offline';
  o_live := found;
  if o_live and p_draining and v_was <> 'draining' then perform log_worker(p_worker, 'stopping', o_now); end if;
  if o_live and v_keep then perform log_worker(p_worker, 'heartbeat', o_now); end if;
  o_held := 0;
  o_behind := '{}';
  o_tasks := 0;
  if not o_live then return; end if;
  select count(*), coalesce(array_agg(r.run_id) filter (where r.delivered > r.consumed), '{}') into o_held, o_behind
    from runs r where r.held_by = p_worker;
  select count(*), array_agg(t.run_id) filter (where t.canceled), array_agg(t.seq) filter (where t.canceled),
         array_agg(t.epoch) filter (where t.canceled) into o_tasks, o_canceled_run, o_canceled_seq, o_canceled_epoch
    from tasks t where t.held_by = p_worker;
  select l.o_leads, l.o_next_at, l.o_waiting, l.o_retains, l.o_hints into o_leads, o_next_at, o_waiting, o_retains, o_hints
    from lead(p_worker, p_coordinates and not p_draining, o_now, p_notify) l;
end $$;

-- Releases runs whose gate is closed, due at once: epoch + 1 fences off the previous holder at its next write.
create function give_back(p_run uuid[], p_now bigint) returns void language sql volatile set enable_seqscan = off as $$
  update runs r set epoch = r.epoch + 1, event_count = last_seq(r.run_no, r.event_count), held_by = null, claim_id = null, alone = false,
      available_at = p_now where r.run_id = any (p_run) $$;

create function release_runs(
  p_namespace text, p_worker uuid, p_run uuid[], p_epoch int[], p_died_alone boolean, p_notify boolean, out o_released int, out o_hints text)
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare v_now bigint; v_mine uuid[];
begin
  o_released := 0;
  if not close_gates(array[p_worker]) then return; end if;
  v_now := now_ms();
  v_mine := array(select r.run_id from unnest(p_run, p_epoch) as a(run_id, epoch)
                    join runs r on r.run_id = a.run_id and r.epoch = a.epoch and r.held_by = p_worker
                    join workers w on w.worker_id = p_worker and w.namespace = p_namespace
                     for no key update of r skip locked);
  if p_died_alone is not null then
    update runs r set deaths = r.deaths + 1, alone_deaths = r.alone_deaths + p_died_alone::int where r.run_id = any (v_mine);
  end if;
  perform give_back(v_mine, v_now);
  o_released := cardinality(v_mine);
  o_hints := send_hints(due_lines(v_mine, v_now), p_notify);
end $$;

-- Takes a run from whoever holds it, unless something was recorded since the caller looked.
create function restart_run(
  p_namespace text, p_run uuid, p_epoch int, p_commit int, p_events int, p_type smallint, p_meta bytea, p_notify boolean, out o_outcome text, out o_hints text)
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare v_now bigint; v_holder uuid; r record;
begin
  if (select 1 from run_starts s where s.run_id = p_run and s.namespace = p_namespace) is null then
    o_outcome := 'not_found';
    return;
  end if;
  select x.held_by into v_holder from runs x where x.run_id = p_run and x.epoch = p_epoch;
  if v_holder is null then o_outcome := 'moved'; return; end if;
  if not close_gates(array[v_holder]) then o_outcome := 'busy'; return; end if;
  select x.epoch, x.commit_no, x.event_count, x.run_no, x.held_by into r from runs x where x.run_id = p_run for no key update skip locked;
  if not found then o_outcome := 'busy'; return; end if;
  if r.held_by is distinct from v_holder or r.epoch <> p_epoch or r.commit_no <> p_commit
     or last_seq(r.run_no, r.event_count) <> p_events then
    o_outcome := 'moved';
    return;
  end if;
  v_now := now_ms();
  perform give_back(array[p_run], v_now);
  perform append_note(p_run, p_type, p_meta, v_now);
  o_outcome := 'restarted';
  o_hints := send_hints(hint_lines('t', array[r.held_by::text], array[p_run]) || due_lines(array[p_run], v_now), p_notify);
end $$;

create function stop_worker(p_namespace text, p_worker uuid, p_notify boolean, out o_hints text)
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare v_now bigint; v_mine uuid[] := '{}'; v_tasks tid[];
begin
  -- FOR UPDATE excludes the KEY SHARE of a claim in flight: once it is granted, the worker can claim nothing more.
  perform 1 from workers w where w.worker_id = p_worker and w.namespace = p_namespace for update;
  if not found then return; end if;
  v_now := now_ms();
  update workers w set status = 'offline', stopped_at = v_now where w.worker_id = p_worker and w.status <> 'offline';
  if found then perform log_worker(p_worker, 'stopped', v_now); end if;
  -- If one of its flushes takes too long, the next sweep reclaims its runs.
  if close_gates(array[p_worker]) then
    v_mine := array(select r.run_id from runs r where r.held_by = p_worker for no key update skip locked);
    perform give_back(v_mine, v_now);
  end if;
  v_tasks := array(select t.ctid from tasks t where t.held_by = p_worker for no key update skip locked);
  o_hints := send_hints(due_lines(v_mine, v_now) || return_tasks(v_tasks, '{}', v_now, 1, 1) || step_down(p_worker), p_notify);
end $$;

create function sweep_workers(
  p_suspect_after int, p_park_after int, p_park_error bytea, p_park_type smallint, p_park_meta bytea, p_grace bigint, p_timeout_error bytea, p_limit int,
  p_gone uuid[],         -- instead of those whose lease has expired
  p_notify boolean, out o_now bigint, out o_dead int, out o_returned int, out o_tasks_returned int, out o_parked int,
  out o_timed_out int, out o_more boolean, out o_next_expiry_at bigint,
  out o_next_task_expiry_at bigint, out o_owes boolean, out o_hints text)
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan set enable_bitmapscan = off as $$
declare v_gates uuid[]; v_ids uuid[]; v_parked uuid[]; v_lines text[]; v_tasks tid[]; v_died boolean[]; v_awaited uuid[]; v_parents uuid[];
begin
  o_now := now_ms();
  -- FOR UPDATE, not NO KEY UPDATE: it must exclude the KEY SHARE of a claim or a start-and-hold in flight.
  with late as materialized (
    select w.worker_id from workers w where not w.emptied and w.status <> 'offline'
       and case when p_gone is null then w.lease_expires_at <= o_now else w.worker_id = any (p_gone) end
       for update skip locked
  ), dead as (
    update workers w set status = 'offline', died = true, stopped_at = o_now from late where w.worker_id = late.worker_id
    returning w.namespace, w.worker_id, w.name)
  insert into worker_log (namespace, worker_id, name, type, at)
  select d.namespace, d.worker_id, d.name, 'died', o_now from dead d order by d.worker_id;
  get diagnostics o_dead = row_count;
  -- A worker that has a flush on its way is left for the next sweep. Without a lease it starts nothing, so that its flushes come to an end.
  v_gates := array(select w.worker_id from (select x.worker_id from workers x where not x.emptied and x.status = 'offline' offset 0) w
                    where pg_try_advisory_xact_lock(gate_of(w.worker_id)));
  -- Reclaims the runs of every offline worker, except those that have proved to kill workers.
  with gone as materialized (
    select r.run_id, w.died from workers w join runs r on r.held_by = w.worker_id
     where not w.emptied and w.status = 'offline' and w.worker_id = any (v_gates) limit p_limit for no key update of r skip locked
  ), freed as (
    update runs r set epoch = r.epoch + 1, event_count = last_seq(r.run_no, r.event_count), held_by = null, claim_id = null, alone = false,
        deaths = r.deaths + g.died::int, alone_deaths = r.alone_deaths + (g.died and r.alone)::int,
        suspect = case when g.died then r.deaths + 1 >= p_suspect_after else r.suspect end,
        status = case when r.alone_deaths + (g.died and r.alone)::int >= p_park_after then 'parked' else r.status end,
        error = case when r.alone_deaths + (g.died and r.alone)::int >= p_park_after then p_park_error else r.error end,
        parked_by = case when r.alone_deaths + (g.died and r.alone)::int < p_park_after then r.parked_by end,
        available_at = case when r.alone_deaths + (g.died and r.alone)::int < p_park_after
                            then o_now end
      from gone g where r.run_id = g.run_id returning r.run_id, r.status
  )
  select coalesce(array_agg(f.run_id), '{}'), coalesce(array_agg(f.run_id) filter (where f.status = 'parked'), '{}')
    into v_ids, v_parked from freed f;
  o_parked := cardinality(v_parked);
  o_returned := cardinality(v_ids) - o_parked;
  v_lines := due_lines(v_ids, o_now);
  if o_parked > 0 then
    perform append_note(t.run_id, p_park_type, p_park_meta, o_now) from unnest(v_parked) as t(run_id);
    select v_lines || hint_lines('e', array_agg(s.namespace), array_agg(s.run_id)) into v_lines
      from run_starts s where s.run_id = any (v_parked);
  end if;
  -- Their tasks. A stopped worker leaves few behind: it has returned all that it could lock.
  select coalesce(array_agg(g.place), '{}'), array_agg(g.died) into v_tasks, v_died
    from (select t.ctid as place, w.died from workers w join tasks t on t.held_by = w.worker_id
           where not w.emptied and w.status = 'offline' limit p_limit - cardinality(v_ids)
             for no key update of t skip locked) g;
  o_tasks_returned := cardinality(v_tasks);
  if o_tasks_returned > 0 then
    v_lines := v_lines || return_tasks(v_tasks, v_died, o_now, p_suspect_after, p_park_after);
  end if;
  -- An offline worker can only lose runs and tasks: once it holds none, no sweep needs to check it again.
  update workers w set emptied = true where not w.emptied and w.status = 'offline'
     and not exists (select 1 from runs r where r.held_by = w.worker_id)
     and not exists (select 1 from tasks t where t.held_by = w.worker_id);
  select min(w.lease_expires_at) filter (where w.status <> 'offline'),
         cardinality(v_ids) + o_tasks_returned >= p_limit and coalesce(bool_or(w.status = 'offline'), false)
    into o_next_expiry_at, o_more from workers w where not w.emptied;
  select t.expires_at into o_next_task_expiry_at from tasks t where t.expires_at is not null order by t.expires_at limit 1;
  -- Runs past their deadline that never began, and so have no tasks. One that has may have something to clean up, so it waits for a worker.
  -- One that is paused reaches its deadline when it is resumed.
  with late as materialized (
    select r.run_id, r.awaited, r.has_children from runs r
     where r.deadline_at is not null and r.ended_at is null and r.deadline_at <= o_now - p_grace
       and r.started_at is null and r.status <> 'parked' order by r.deadline_at limit p_limit for update of r skip locked
  ), ended as (
    update runs r set status = 'timed_out', epoch = r.epoch + 1, available_at = null, waiting_for = null,
        ended_at = case when r.event_count = 0 then greatest(o_now, r.created_at) else end_time(r, o_now) end,
        error = p_timeout_error from late where r.run_id = late.run_id
  )
  select count(*)::int, v_lines || hint_lines('e', array_agg(s.namespace), array_agg(s.run_id)),
         array_agg(s.run_id) filter (where late.awaited), array_agg(s.run_id) filter (where late.has_children)
    into o_timed_out, v_lines, v_awaited, v_parents from late join run_starts s using (run_id);
  -- 5 s: DEBT_OVERDUE_MS.
  o_owes := coalesce((select d.at from debts d order by d.debt_no limit 1) + 5000 <= o_now, false);
  if v_awaited is not null or v_parents is not null then
    v_lines := v_lines || owe_ends(v_awaited, v_parents, o_now);
    o_owes := o_owes or (select 1 from runs r where r.run_id = any (v_awaited || v_parents) and r.owes limit 1) is not null;
  end if;
  o_more := o_more or o_timed_out >= p_limit;
  o_hints := send_hints(v_lines || step_down_if_offline(), p_notify);
end $$;

create function ask_to_drain(p_namespace text, p_worker uuid) returns text
language plpgsql volatile security definer set search_path from current as $$
declare v_status worker_status;
begin
  update workers w set drain_asked = true where w.worker_id = p_worker and w.namespace = p_namespace and w.status <> 'offline';
  if found then return 'asked'; end if;
  perform 1 from workers w where w.worker_id = p_worker and w.namespace = p_namespace;
  return case when found then 'offline' else 'not_found' end;
end $$;

-- The rows are taken in one order by everybody, so that nobody waits for one who waits.
create function add_rates(
  p_namespace text, p_worker uuid, p_no int, p_at bigint[], p_workflow text[], p_started int[], p_ended int[], p_failed int[],
  p_retried int[]) returns void
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off as $$
begin
  update workers w set rates_no = p_no
   where w.worker_id = p_worker and w.namespace = p_namespace and w.status <> 'offline' and w.rates_no = p_no - 1;
  if not found then return; end if;
  insert into rates as r (namespace, at, workflow, started, ended, failed, retried)
  select p_namespace, a.at, a.workflow, a.started, a.ended, a.failed, a.retried
    from unnest(p_at, p_workflow, p_started, p_ended, p_failed, p_retried) as a(at, workflow, started, ended, failed, retried)
   order by a.at, a.workflow collate "C"
  on conflict (namespace, at, workflow) do update set started = r.started + excluded.started, ended = r.ended + excluded.ended,
    failed = r.failed + excluded.failed, retried = r.retried + excluded.retried;
end $$;

-- The oldest entries come first; if they are not old, none is. What another transaction has locked is left for the next time.
create function forget_workers(p_before bigint, p_limit int) returns boolean
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare v_log int; v_rates int; v_workers int;
begin
  delete from worker_log l where l.entry_no = any (array(
    select o.entry_no from (select x.entry_no, x.at from worker_log x order by x.entry_no limit p_limit) o where o.at < p_before));
  get diagnostics v_log = row_count;
  delete from rates r where r.ctid = any (array(
    select x.ctid from rates x where x.at < p_before order by x.at limit p_limit for update skip locked));
  get diagnostics v_rates = row_count;
  delete from workers w where w.worker_id = any (array(
    select x.worker_id from workers x where x.emptied and x.stopped_at < p_before limit p_limit for update skip locked));
  get diagnostics v_workers = row_count;
  return greatest(v_log, v_rates, v_workers) >= p_limit;
end $$;
`;
