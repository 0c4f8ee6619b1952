export const LANES = String.raw`
-- The lanes of runs that are about to be created; missing lanes are created. Called before any other lock is taken.
-- Hundreds of runs started at once mostly share one lane or a few: each lane is looked up once. A run that no longer exists has no
-- namespace; its place holds a null.
create function lanes_of(p_namespace text[], p_queue text[], p_workflow text[], p_version text[], p_priority int[],
  out o_lanes int[],
  out o_limited int[])   -- their queues, as far as these have limits
language plpgsql volatile set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare v_all int[] := array[cardinality(p_queue)];
begin
  if p_namespace = array_fill(p_namespace[1], v_all) and p_queue = array_fill(p_queue[1], v_all)
     and p_workflow = array_fill(p_workflow[1], v_all) and p_version = array_fill(p_version[1], v_all)
     and p_priority = array_fill(p_priority[1], v_all) then
    select array_fill(l.lane_id, v_all), array_fill(l.limited_id, v_all) into o_lanes, o_limited from lanes l
     where l.namespace = p_namespace[1] and l.queue = p_queue[1] and l.workflow = p_workflow[1] and l.version = p_version[1]
       and l.priority = p_priority[1];
    if found then return; end if;
  end if;
  for v_round in 1..3 loop
    with asked as materialized (
      select * from unnest(p_namespace, p_queue, p_workflow, p_version, p_priority)
                    with ordinality as n(namespace, queue, workflow, version, priority, i)
    ), kinds as materialized (
      select k.*, l.lane_id, l.limited_id
        from (select distinct a.namespace, a.queue, a.workflow, a.version, a.priority from asked a) k
        left join lanes l using (namespace, queue, workflow, version, priority)
    )
    select array_agg(k.lane_id order by a.i), array_agg(k.limited_id order by a.i) into o_lanes, o_limited
      from asked a left join kinds k using (namespace, queue, workflow, version, priority);
    exit when array_position(o_lanes, null) is null;
    insert into lanes (namespace, queue, workflow, version, priority, limited_id)
    select distinct n.namespace, n.queue, n.workflow, n.version, n.priority,
           (select q.limited_id from limited q where q.namespace = n.namespace and q.queue = n.queue and q.kind = 'runs')
      from unnest(o_lanes, p_namespace, p_queue, p_workflow, p_version, p_priority)
           as n(lane_id, namespace, queue, workflow, version, priority)
     where n.lane_id is null and n.namespace is not null order by 1, 2, 3, 4, 5
    on conflict do nothing;
  end loop;
end $$;

-- The same for tasks. Each entry of p_requires is a literal of a text array.
create function task_lanes_of(p_namespace text[], p_queue text[], p_name text[], p_requires text[], p_priority int[])
returns int[] language plpgsql volatile set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare v_ids int[];
begin
  for v_round in 1..3 loop
    with asked as materialized (
      select * from unnest(p_namespace, p_queue, p_name, p_requires, p_priority)
                    with ordinality as n(namespace, queue, name, requires, priority, i)
    ), kinds as materialized (
      select k.*, l.lane_id
        from (select distinct a.namespace, a.queue, a.name, a.requires, a.priority from asked a) k
        left join task_lanes l on l.namespace = k.namespace and l.queue = k.queue and l.name = k.name
         and l.requires = k.requires::text[] and l.priority = k.priority
    )
    select array_agg(k.lane_id order by a.i) into v_ids
      from asked a left join kinds k using (namespace, queue, name, requires, priority);
    exit when array_position(v_ids, null) is null;
    insert into task_lanes (namespace, queue, name, requires, priority, limited_id)
    select distinct n.namespace, n.queue, n.name, n.requires::text[], n.priority,
           (select q.limited_id from limited q where q.namespace = n.namespace and q.queue = n.queue and q.kind = 'tasks')
      from unnest(v_ids, p_namespace, p_queue, p_name, p_requires, p_priority)
           as n(lane_id, namespace, queue, name, requires, priority)
     where n.lane_id is null order by 1, 2, 3, 4, 5
    on conflict do nothing;
  end loop;
  return v_ids;
end $$;
`;
