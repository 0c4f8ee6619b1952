export const TASKS_CLAIM = String.raw`
-- Claims due tasks. As with runs, one probe per lane that the worker can serve finds what is due first and next: tasks that it
-- cannot do cost nothing. The last row of the answer holds the overall state and the lanes; the others are the tasks, without
-- what the caller already knows, and with what their run has asked for.
create function claim_tasks(
  p_worker uuid, p_claim uuid, p_again boolean, p_namespace text, p_queues text[], p_names text[], p_labels text[],
  p_limit int, p_solo boolean)
returns table (live boolean, now bigint, more_due boolean, next_due_at bigint, suspect_due boolean, lanes json,
  run_id uuid, seq int, lane_id int, input_seq int, op text, epoch int, secret uuid, attempt int, expires_at bigint,
  expires task_expiry, canceled boolean, deaths smallint, alone_deaths smallint, alone boolean, suspect boolean,
  fail_on_crash boolean, created_at bigint, details bytea, failures bytea, input bytea, meta bytea)
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  v_now bigint; v_live boolean; v_next bigint; v_suspect boolean := false; l record; v_lanes int[] := '{}';
  v_left int[] := '{}';  -- lanes of which it counts that something due is left
  v_limit int := case when p_solo then least(p_limit, 1) else p_limit end;
  v_rows tid[] := '{}';  -- physical positions, in the order in which to execute them
  v_again boolean := false; v_limited int; g record;
  v_placed tid[] := '{}';  -- those that have got a place in a queue with limits
  v_side int := case when right(p_claim::text, 1) < '8' then -1 else 1 end;
begin
  -- The locks of claim_runs, for the same reasons.
  if p_again then
    select w.status <> 'offline' into v_live from workers w
     where w.worker_id = p_worker and w.namespace = p_namespace for update;
  else
    select w.status <> 'offline' into v_live from workers w
     where w.worker_id = p_worker and w.namespace = p_namespace for key share;
  end if;
  v_live := coalesce(v_live, false);
  v_now := now_ms();
  if v_live and p_again then
    v_rows := array(select t.ctid from tasks t where t.held_by = p_worker and t.claim_id = p_claim order by t.run_id, t.seq);
    v_again := cardinality(v_rows) > 0;
  end if;
  if v_live and not v_again then
    for l in
      select n.lane_id, n.limited_id, d.due,
             case when not p_solo then (select true from tasks t where t.lane_id = n.lane_id and t.suspect
                    and t.available_at <= v_now limit 1) end as suspect_due,
             least((select t.available_at from tasks t where t.lane_id = n.lane_id and not t.suspect
                       and t.available_at > v_now order by t.available_at limit 1),
                   (select t.available_at from tasks t where t.lane_id = n.lane_id and t.suspect
                       and t.available_at > v_now order by t.available_at limit 1)) as next_due_at
        from task_lanes n
        left join lateral (select t.available_at as due from tasks t where t.lane_id = n.lane_id and t.suspect = p_solo
                            and t.available_at <= v_now order by t.available_at limit 1) d on true
       where n.namespace = p_namespace and n.queue = any (p_queues) and n.name = any (p_names) and n.requires <@ p_labels
       order by case when n.limited_id is null then 0 else v_side end, case when n.limited_id is not null then n.queue end,
                n.priority desc, d.due
    loop
      v_suspect := v_suspect or coalesce(l.suspect_due, false);
      v_next := least(v_next, l.next_due_at);
      if l.limited_id is not null and not p_solo then
        if l.due is not null then v_lanes := v_lanes || l.lane_id; end if;
        continue when l.limited_id = v_limited;
        v_limited := l.limited_id;
        select * into g from take_limited_tasks(l.limited_id, p_names, p_labels, v_limit - cardinality(v_rows), v_now);
        v_rows := v_rows || g.o_rows; v_placed := v_placed || g.o_rows; v_lanes := v_lanes || g.o_lanes; v_left := v_left || g.o_left;
        v_next := least(v_next, g.o_next);
        continue;
      end if;
      continue when l.due is null;
      v_lanes := v_lanes || l.lane_id; v_left := v_left || l.lane_id;
      continue when cardinality(v_rows) >= v_limit;
      v_rows := v_rows || array(
        select t.ctid from tasks t
         where t.lane_id = l.lane_id and t.suspect = p_solo and t.available_at <= v_now
         order by t.available_at limit v_limit - cardinality(v_rows)
           for no key update skip locked);
    end loop;
  end if;
  return query
    with taken as (
      update tasks t set status = 'held', epoch = t.epoch + 1, held_by = p_worker, claim_id = p_claim, available_at = null,
          alone = p_solo, began_at = v_now, standing = case when t.ctid = any (v_placed) then 2 else t.standing end,
          expires_at = held_expires_at(v_now, t.timeout_ms, v_now, t.heartbeat_ms, task_grace(false), t.created_at, t.total_timeout_ms),
          expires = held_expires(v_now, t.timeout_ms, v_now, t.heartbeat_ms, task_grace(false), t.created_at, t.total_timeout_ms)
        from unnest(v_rows) with ordinality as k(place, i)
       where not v_again and t.ctid = k.place returning k.i, t.*
    ), ours as materialized (
      select o.* from taken o
      union all
      select k.i, t.* from unnest(v_rows) with ordinality as k(place, i) join tasks t on t.ctid = k.place
       where v_again and t.held_by = p_worker and t.claim_id = p_claim
    )
    select null::boolean, null::bigint, null::boolean, null::bigint, null::boolean, null::json,
           o.run_id, o.seq, o.lane_id, o.input_seq, o.op, o.epoch, o.secret, o.attempt, o.expires_at, o.expires, o.canceled,
           o.deaths, o.alone_deaths, o.alone, o.suspect, o.fail_on_crash, o.created_at, o.details, o.failures, e.payload, e.meta
      from ours o
      left join lateral (select x.payload, x.meta from runs r join events x on x.run_no = r.run_no and x.seq = o.input_seq
                          where r.run_id = o.run_id limit 1) e on true
     order by o.i;
  -- Left over because of the limit, or because other transactions have them locked.
  more_due := exists (select 1 from unnest(v_left) n(lane_id) cross join lateral (
               select 1 from tasks t where t.lane_id = n.lane_id and t.suspect = p_solo and t.available_at <= v_now
                order by t.available_at limit 1) x);
  if v_again then v_lanes := array(select distinct t.lane_id from tasks t where t.held_by = p_worker and t.claim_id = p_claim); end if;
  select json_object_agg(n.lane_id, n) into lanes from task_lanes n where n.lane_id = any (v_lanes);
  live := v_live; now := v_now; next_due_at := v_next; suspect_due := v_suspect;
  return next;
end $$;

-- Returns the tasks of workers that have stopped or died, by their physical positions: the rows are locked. p_died: one entry
-- for each; none if nobody died. A task that this fails expires at once, and whoever looks for expired tasks decides
-- (afterTaskHolder in model/decisions/task.ts). Returns the hints.
create function return_tasks(p_rows tid[], p_died boolean[], p_now bigint, p_suspect_after int, p_park_after int)
returns text[] language plpgsql volatile as $$
declare v_lines text[]; v_run uuid[]; v_seq int[];
begin
  -- A suspect keeps its place: it is claimed alone, whenever a worker is empty.
  select array_agg(t.run_id), array_agg(t.seq) into v_run, v_seq
    from unnest(p_rows, p_died) as k(place, died) join tasks t on t.ctid = k.place
   where t.standing > 0 and not case when coalesce(k.died, false) then t.deaths + 1 >= p_suspect_after else t.suspect end;
  with freed as (
    update tasks t set standing = case when g.died then case when t.deaths + 1 >= p_suspect_after then t.standing end
                                       when t.suspect then t.standing end, status = 'due', epoch = t.epoch + 1, finish_id = null, held_by = null, claim_id = null, alone = false,
        deaths = t.deaths + g.died::int, alone_deaths = t.alone_deaths + (g.died and t.alone)::int,
        suspect = case when g.died then t.deaths + 1 >= p_suspect_after else t.suspect end,
        available_at = case when not t.canceled and not task_crashed(t, g.died, p_park_after) then p_now end,
        expires_at = case when t.canceled or task_crashed(t, g.died, p_park_after) then p_now
                          else due_expires_at(p_now, t.start_timeout_ms, t.created_at, t.total_timeout_ms) end,
        expires = case when task_crashed(t, g.died, p_park_after) then 'crash' when t.canceled then 'cancel'
                       else due_expires(p_now, t.start_timeout_ms, t.created_at, t.total_timeout_ms) end
      from (select k.place, coalesce(k.died, false) as died from unnest(p_rows, p_died) as k(place, died)) g
     where t.ctid = g.place returning t.lane_id, t.available_at
  )
  select due_task_lines(array_agg(f.lane_id), array_agg(f.available_at), p_now) into v_lines from freed f;
  if v_run is not null then v_lines := v_lines || give_places_back(v_run, v_seq); end if;
  return v_lines;
end $$;

create function task_crashed(t tasks, p_died boolean, p_park_after int) returns boolean language sql immutable as
$$ select t.fail_on_crash or (p_died and t.alone_deaths + t.alone::int >= p_park_after) $$;
`;
