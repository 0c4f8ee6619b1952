export const QUEUES = String.raw`
-- The limits of a queue, and what there is in it.

-- The lock of the lanes keeps new ones from being missed, and that of the queue its claims away. Both are held for as long as it takes
-- to count what has begun, or to make everything in line due.
create function set_queue(p_namespace text, p_queue text, p_limits jsonb, p_revision uuid, p_next uuid, p_notify boolean,
  out o_written boolean, out o_revision uuid, out o_hints text)
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare v_kind text; v_id int; v_now bigint; v_lines text[] := '{}';
begin
  lock table lanes, task_lanes in share row exclusive mode;
  select q.revision into o_revision from queue_revisions q where q.namespace = p_namespace and q.queue = p_queue;
  o_written := o_revision is not distinct from p_next;
  if o_written or o_revision is distinct from p_revision then return; end if;
  insert into queue_revisions as q (namespace, queue, revision) values (p_namespace, p_queue, p_next)
  on conflict (namespace, queue) do update set revision = p_next;
  o_written := true;
  foreach v_kind in array array['runs', 'tasks'] loop
    select q.limited_id into v_id from limited q where q.namespace = p_namespace and q.queue = p_queue and q.kind = v_kind;
    continue when v_id is null and p_limits is null;
    if v_id is null then
      insert into limited (namespace, queue, kind, limits) values (p_namespace, p_queue, v_kind, p_limits) returning limited_id into v_id;
      perform pg_advisory_xact_lock(limited_lock(v_id));
      v_now := now_ms();
      if v_kind = 'runs' then
        update lanes n set limited_id = v_id where n.namespace = p_namespace and n.queue = p_queue;
        with begun as (
          update runs r set awaited = true, involved = true
           where r.started_at is not null and r.ended_at is null and r.run_id = any (array(
             select x.run_id from lanes n join runs x on x.lane_id = n.lane_id and x.held_by is null and x.ended_at is null
               and x.started_at is not null
              where n.namespace = p_namespace and n.queue = p_queue
              union all
             select x.run_id from runs x
              where x.held_by is not null and x.lane_id = any (array(
                select n.lane_id from lanes n where n.namespace = p_namespace and n.queue = p_queue))))
          returning r.run_id)
        insert into places (run_id, seq, limited_id, key, since)
        select b.run_id, 0, v_id, coalesce(s.key, ''), v_now from begun b join run_starts s on s.run_id = b.run_id;
      else
        update task_lanes n set limited_id = v_id where n.namespace = p_namespace and n.queue = p_queue;
        with begun as (
          update tasks t set standing = 2
           where (t.held_by is not null or t.suspect) and t.status <> 'dead'
             and t.lane_id = any (array(select n.lane_id from task_lanes n where n.limited_id = v_id))
          returning t.run_id, t.seq, t.key)
        insert into places (run_id, seq, limited_id, key, since)
        select b.run_id, b.seq, v_id, coalesce(b.key, s.key, ''), v_now from begun b left join run_starts s on s.run_id = b.run_id;
      end if;
      insert into limited_keys (limited_id, key, running, virtual_time, ready)
      select v_id, p.key, count(*), 0, true from places p where p.limited_id = v_id and not p.given_back group by p.key;
      update limited q set running = (select count(*) from places p where p.limited_id = v_id and not p.given_back) where q.limited_id = v_id;
    elsif p_limits is not null then
      perform pg_advisory_xact_lock(limited_lock(v_id));
      update limited q set limits = p_limits where q.limited_id = v_id;
      -- Whatever kept them from it may be gone.
      update limited_keys k set ready = true, wake_at = null,
          virtual_time = case when k.ready then k.virtual_time else greatest(k.virtual_time, q.virtual_time) end
        from limited q where k.limited_id = v_id and q.limited_id = v_id;
    else
      perform pg_advisory_xact_lock(limited_lock(v_id));
      if v_kind = 'runs' then
        update runs r set available_at = l.at, waiting_for = null from lines l
         where l.limited_id = v_id and r.run_id = l.run_id and r.held_by is null and r.ended_at is null and r.status <> 'parked';
        update lanes n set limited_id = null where n.limited_id = v_id;
      else
        update tasks t set available_at = l.at, standing = null from lines l
         where l.limited_id = v_id and t.run_id = l.run_id and t.seq = l.seq and t.standing = 1;
        update task_lanes n set limited_id = null where n.limited_id = v_id;
      end if;
      delete from lines l where l.limited_id = v_id;
      delete from places p where p.limited_id = v_id;
      delete from limited_keys k where k.limited_id = v_id;
      delete from limited q where q.limited_id = v_id;
    end if;
    v_lines := v_lines || (case when v_kind = 'runs' then 'd' else 'q' end || E'\t' || p_namespace || E'\t' || p_queue);
  end loop;
  o_hints := send_hints(v_lines, p_notify);
end $$;

-- What is due and not in progress: a row for each lane, and one for its suspects. What is in line for a place is left out.
create function read_backlog(p_namespace text, p_at_most int, p_late bigint)
returns table (now bigint, queue text, name text, version text, requires text[], waiting int, oldest bigint, suspect boolean, late int, timer bigint)
language plpgsql stable security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare v_now bigint := now_ms();
begin
  return query
    select v_now, n.queue, n.workflow, n.version, null::text[], d.n, d.at, k.suspect, d.late, d.timer
      from lanes n cross join unnest(array[false, true]) as k(suspect)
     cross join lateral (
       select count(*)::int as n, min(x.available_at) as at,
              (count(*) filter (where x.status = 'sleeping' and x.available_at <= v_now - p_late))::int as late,
              min(x.available_at) filter (where x.status = 'sleeping') as timer
         from (select r.available_at, r.status from runs r
                where r.lane_id = n.lane_id and r.suspect = k.suspect and r.available_at <= v_now
                  and (n.limited_id is null or coalesce((r.waiting_for::text[])[1], '') not like 'queue:%#05')
                order by r.available_at limit p_at_most) x) d
     where n.namespace = p_namespace and d.n > 0
    union all
    select v_now, n.queue, n.name, null, n.requires, d.n, d.at, k.suspect, 0, null::bigint
      from task_lanes n cross join unnest(array[false, true]) as k(suspect)
     cross join lateral (
       select count(*)::int as n, min(x.available_at) as at
         from (select t.available_at from tasks t
                where t.lane_id = n.lane_id and t.suspect = k.suspect and t.available_at <= v_now
                order by t.available_at limit p_at_most) x) d
     where n.namespace = p_namespace and d.n > 0
    union all
    select v_now, null, null, null, null, 0, 0::bigint, false, 0, null::bigint;
end $$;

-- One row for each queue and kind. p_key: only what has that key.
create function list_queues(p_namespace text, p_queue text, p_key text, p_holders int)
returns table (queue text, kind text, limits jsonb, waiting bigint, running bigint, oldest bigint, per_second double precision, token_at bigint,
  holders json)
language plpgsql stable security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare v_now bigint := now_ms();
begin
  return query
    with names as (
      select q.queue from limited q where q.namespace = p_namespace
      union select n.queue from lanes n where n.namespace = p_namespace
      union select n.queue from task_lanes n where n.namespace = p_namespace
    ), due as (
      -- What is in line is counted there. Only in a queue with limits something is.
      select n.queue, 'runs' as kind, sum(d.n) as n, min(d.at) as at from lanes n
       cross join lateral (
         select count(*) as n, min(r.available_at) as at from runs r
          where r.lane_id = n.lane_id and r.available_at <= v_now
            and (n.limited_id is null or coalesce((r.waiting_for::text[])[1], '') not like 'queue:%#05')
            and (p_key is null or (select coalesce(s.key, '') from run_starts s where s.run_id = r.run_id) = p_key)) d
       where n.namespace = p_namespace group by n.queue
      union all
      select n.queue, 'tasks', sum(d.n), min(d.at) from task_lanes n
       cross join lateral (
         select count(*) as n, min(t.available_at) as at from tasks t
          where t.lane_id = n.lane_id and t.available_at <= v_now
            and (p_key is null or coalesce(t.key, (select s.key from run_starts s where s.run_id = t.run_id), '') = p_key)) d
       where n.namespace = p_namespace group by n.queue
    ), held as (
      select n.queue, 'runs' as kind, count(*) as n from runs r join lanes n using (lane_id)
       where r.held_by is not null and n.namespace = p_namespace
         and (p_key is null or (select coalesce(s.key, '') from run_starts s where s.run_id = r.run_id) = p_key) group by n.queue
      union all
      select n.queue, 'tasks', count(*) from tasks t join task_lanes n using (lane_id)
       where t.held_by is not null and n.namespace = p_namespace
         and (p_key is null or coalesce(t.key, (select s.key from run_starts s where s.run_id = t.run_id), '') = p_key) group by n.queue
    )
    select m.queue, k.kind, q.limits, coalesce(d.n, 0)::bigint + coalesce(l.n, 0),
           case when q.limited_id is null then coalesce(h.n, 0) else p.n end, least(d.at, l.at),
           case when q.limited_id is null then 0 else q.per_second * exp(-least(700, greatest(0, v_now - q.pace_at)::double precision / 60000)) end,
           (select token_at(x.tokens, x.rate, v_now, 1)
              from (select case when p_key is null then q.limits -> 'rate' when p_key <> '' then q.limits -> 'perKey' -> 'rate' end as rate,
                           case when p_key is null then tokens_in(q.tokens, q.tokens_at, q.limits -> 'rate', v_now)
                                when p_key <> '' then tokens_in(y.tokens, y.tokens_at, q.limits -> 'perKey' -> 'rate', v_now) end as tokens
                      from (select 1) o left join limited_keys y on y.limited_id = q.limited_id and y.key = p_key) x
             where x.tokens < 1),
           (select json_agg(json_build_object('id', s.id, 'runId', x.run_id, 'key', nullif(x.key, ''), 'op', t.op, 'since', x.since)
                            order by x.since, x.run_id, x.seq)
              from (select * from places y where y.limited_id = q.limited_id and not y.given_back and (p_key is null or y.key = p_key)
                     order by y.since, y.run_id, y.seq limit p_holders) x
              join run_starts s on s.run_id = x.run_id left join tasks t on t.run_id = x.run_id and t.seq = x.seq)
      from names m cross join unnest(array['runs', 'tasks']) as k(kind)
      left join limited q on q.namespace = p_namespace and q.queue = m.queue and q.kind = k.kind
      left join due d on d.queue = m.queue and d.kind = k.kind
      left join held h on h.queue = m.queue and h.kind = k.kind
      left join lateral (select count(*) as n, min(x.at) as at from lines x
                          where x.limited_id = q.limited_id and (p_key is null or x.key = p_key)) l on true
      left join lateral (select count(*) as n from places x
                          where x.limited_id = q.limited_id and not x.given_back and (p_key is null or x.key = p_key)) p on true
     where p_queue is null or m.queue = p_queue
     order by m.queue, k.kind;
end $$;
`;
