export const TASKS_REPORTS = String.raw`
-- Reports of attempts in progress. A row is written only if there is something to record: details, or a limit that starts
-- anew. Like commit_runs, it waits at most 3 ms for a locked row; repeated with p_skip, it records nothing for such a task. The
-- answer is then taken from the version that everybody can see.
create function beat_tasks(
  p_skip boolean, p_namespace text[], p_run uuid[], p_seq int[], p_epoch int[],
  p_worker uuid[],       -- the holder, or
  p_secret uuid[],       -- the secret of someone who has the token
  p_details bytea[],
  out o_outcome text,    -- per task: h heard, c heard but canceled, l lost, g lost because it is gone
  out o_now bigint)
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan
set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set lock_timeout = '3ms' as $$
declare v_i int[]; v_outcome "char"[]; v_ok int[];
begin
  if p_skip then
    perform set_config('lock_timeout', '800ms', true);
    v_ok := array(select a.i from unnest(p_run, p_seq) with ordinality as a(run_id, seq, i)
                    join tasks t on t.run_id = a.run_id and t.seq = a.seq for no key update of t skip locked);
  end if;
  o_now := now_ms();
  with heard as (
    update tasks t set
      details      = coalesce(a.details, t.details),
      deaths       = case when a.details is null then t.deaths else 0 end,
      alone_deaths = case when a.details is null then t.alone_deaths else 0 end,
      alone        = t.alone and a.details is null,
      suspect      = t.suspect and a.details is null,
      expires_at   = case when t.canceled then t.expires_at
        else held_expires_at(t.began_at, t.timeout_ms, o_now, t.heartbeat_ms, task_grace(t.status = 'external'), t.created_at,
                             t.total_timeout_ms) end,
      expires      = case when t.canceled then t.expires
        else held_expires(t.began_at, t.timeout_ms, o_now, t.heartbeat_ms, task_grace(t.status = 'external'), t.created_at,
                          t.total_timeout_ms) end
      from unnest(p_namespace, p_run, p_seq, p_epoch, p_worker, p_secret, p_details) with ordinality
           as a(namespace, run_id, seq, epoch, worker_id, secret, details, i)
     where t.run_id = a.run_id and t.seq = a.seq and t.epoch = a.epoch and t.status in ('held', 'external')
       and case when a.worker_id is null then t.secret = a.secret else t.held_by = a.worker_id end
       and (select n.namespace from task_lanes n where n.lane_id = t.lane_id) = a.namespace
       and (v_ok is null or a.i = any (v_ok))
       and (a.details is not null or not t.canceled and t.expires_at is distinct from
            held_expires_at(t.began_at, t.timeout_ms, o_now, t.heartbeat_ms, task_grace(t.status = 'external'), t.created_at,
                            t.total_timeout_ms))
    returning a.i, t.canceled
  )
  select array_agg(h.i), array_agg(case when h.canceled then 'c' else 'h' end::"char") into v_i, v_outcome from heard h;
  if coalesce(cardinality(v_i), 0) < cardinality(p_run) then
    select v_i || array_agg(a.i::int), v_outcome || array_agg(
             case when t.canceled then 'c' when not t.canceled then 'h'
                  when exists (select from tasks x join task_lanes n on n.lane_id = x.lane_id
                                where x.run_id = a.run_id and x.seq = a.seq and n.namespace = a.namespace) then 'l' else 'g' end::"char")
      into v_i, v_outcome
      from unnest(p_namespace, p_run, p_seq, p_epoch, p_worker, p_secret) with ordinality
           as a(namespace, run_id, seq, epoch, worker_id, secret, i)
      left join lateral (
        select t.canceled from tasks t
         where t.run_id = a.run_id and t.seq = a.seq and t.epoch = a.epoch and t.status in ('held', 'external')
           and case when a.worker_id is null then t.secret = a.secret else t.held_by = a.worker_id end
           and (select n.namespace from task_lanes n where n.lane_id = t.lane_id) = a.namespace limit 1) t on true
     where v_i is null or a.i <> all (v_i);
  end if;
  o_outcome := (select string_agg(k.outcome::text, '' order by k.i) from unnest(v_i, v_outcome) as k(i, outcome));
end $$;

-- A run gives tasks up whose outcome it must still learn. 30 s: TASK_CANCEL_MS.
create function cancel_tasks(
  p_namespace text, p_run uuid[], p_seq int[], p_notify boolean,
  out o_outcome text,    -- per task: w waiting, n never began, s stopped, g gone, b busy
  out o_hints text)
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan
set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off as $$
declare v_now bigint; v_i int[]; v_rows tid[]; v_outcome text[]; v_lines text[]; v_run uuid[]; v_seq int[];
begin
  select coalesce(array_agg(k.i::int), '{}'), array_agg(k.place), array_agg(p_run[k.i]) filter (where k.standing = 1),
         array_agg(p_seq[k.i]) filter (where k.standing = 1) into v_i, v_rows, v_run, v_seq
    from (select a.i, t.ctid as place, t.standing from unnest(p_run, p_seq) with ordinality as a(run_id, seq, i)
            join tasks t on t.run_id = a.run_id and t.seq = a.seq
           where t.status <> 'dead' and (select n.namespace from task_lanes n where n.lane_id = t.lane_id) = p_namespace
             for no key update of t skip locked) k;
  v_now := now_ms();
  with marked as (
    update tasks t set canceled = true, available_at = null, standing = nullif(t.standing, 1),
        expires_at = case when t.canceled then t.expires_at else v_now + 30000 end,
        expires = case when t.canceled then t.expires else 'cancel' end
      from unnest(v_i, v_rows) as k(i, place) where t.ctid = k.place
    returning k.i, t.run_id, t.seq, t.held_by, case when t.status = 'held' then 'w' when t.began_at is null then 'n' else 's' end as outcome
  )
  select array_agg(m.i), array_agg(m.outcome), task_lines(array_agg(m.held_by), array_agg(m.run_id), array_agg(m.seq))
    into v_i, v_outcome, v_lines from marked m;
  if v_run is not null then perform give_places_back(v_run, v_seq); end if;
  -- The others, with a new snapshot: none, dead, or locked by another transaction.
  if coalesce(cardinality(v_i), 0) < cardinality(p_run) then
    select v_i || array_agg(a.i::int), v_outcome || array_agg(case when t.found then 'b' else 'g' end) into v_i, v_outcome
      from unnest(p_run, p_seq) with ordinality as a(run_id, seq, i)
      left join lateral (select true as found from tasks t
                          where t.run_id = a.run_id and t.seq = a.seq and t.status <> 'dead'
                            and (select n.namespace from task_lanes n where n.lane_id = t.lane_id) = p_namespace limit 1) t on true
     where v_i is null or a.i <> all (v_i);
  end if;
  o_outcome := (select string_agg(k.outcome, '' order by k.i) from unnest(v_i, v_outcome) as k(i, outcome));
  o_hints := send_hints(coalesce(v_lines, '{}'), p_notify);
end $$;

-- How many tasks of the same kind come before a due one. Null if it is not due.
create function task_position(p_namespace text, p_run uuid, p_seq int, p_at_most int) returns int
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan
set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off as $$
declare v_now bigint := now_ms(); t record;
begin
  select x.available_at, l.queue, l.name, l.requires, l.priority into t from tasks x join task_lanes l using (lane_id)
   where x.run_id = p_run and x.seq = p_seq and l.namespace = p_namespace and x.available_at <= v_now;
  if not found then return null; end if;
  return (select count(*) from (
    select 1 from task_lanes l cross join unnest(array[false, true]) as s(suspect)
     cross join lateral (
       select 1 from tasks o where o.lane_id = l.lane_id and o.suspect = s.suspect
          and o.available_at < case when l.priority > t.priority then v_now + 1 else t.available_at end
        limit p_at_most) b
     where l.namespace = p_namespace and l.queue = t.queue and l.name = t.name and l.requires = t.requires
       and l.priority >= t.priority limit p_at_most) k);
end $$;

-- Lists tasks in the order of the key. External tasks and dead letters: one walk along their index for each lane, merged. There
-- are never many held tasks: all of them are read and sorted. Null: any.
create function list_tasks(
  p_namespace text, p_name text, p_queue text, p_status text, p_run uuid, p_after_run uuid, p_after_seq int, p_limit int)
returns setof task_rows
language plpgsql stable security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off
set enable_bitmapscan = off set enable_sort = off as $$
declare
  v_lanes int[] := array(select l.lane_id from task_lanes l where l.namespace = p_namespace
                            and (p_name is null or l.name = p_name) and (p_queue is null or l.queue = p_queue));
  v_first uuid := coalesce(p_run, '00000000-0000-0000-0000-000000000000');
  v_last uuid := coalesce(p_run, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
  v_after uuid := coalesce(p_after_run, '00000000-0000-0000-0000-000000000000');
  v_after_seq int := coalesce(p_after_seq, -1);
  v_run uuid[]; v_seq int[];
begin
  if p_status in ('external', 'dead') then
    select array_agg(k.run_id), array_agg(k.seq) into v_run, v_seq
      from (select x.run_id, x.seq from unnest(v_lanes) as l(lane_id)
             cross join lateral (
               -- The first condition is that of the index.
               select t.run_id, t.seq from tasks t
                where t.status in ('external', 'dead') and t.lane_id = l.lane_id and t.status = p_status::task_status
                  and t.run_id between v_first and v_last and (t.run_id, t.seq) > (v_after, v_after_seq)
                order by t.run_id, t.seq limit p_limit) x
             order by x.run_id, x.seq limit p_limit) k;
  elsif p_status = 'held' then
    select array_agg(k.run_id), array_agg(k.seq) into v_run, v_seq
      from (select h.run_id, h.seq
              from (select t.run_id, t.seq, t.lane_id from tasks t where t.held_by is not null offset 0) h
             where h.run_id between v_first and v_last and (h.run_id, h.seq) > (v_after, v_after_seq)
               and h.lane_id = any (v_lanes) order by h.run_id, h.seq limit p_limit) k;
  else
    select array_agg(k.run_id), array_agg(k.seq) into v_run, v_seq
      from (select t.run_id, t.seq from tasks t
             where t.run_id between v_first and v_last and (t.run_id, t.seq) > (v_after, v_after_seq)
               and (p_status is null or t.status::text = p_status) and t.lane_id = any (v_lanes)
             order by t.run_id, t.seq limit p_limit) k;
  end if;
  return query
    select v.* from unnest(v_run, v_seq) with ordinality as k(run_id, seq, i)
      join task_rows v on v.run_id = k.run_id and v.seq = k.seq order by k.i;
end $$;
`;
