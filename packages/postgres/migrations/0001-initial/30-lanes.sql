-- The lanes of runs that are about to be created, made where they are missing. Called before any other lock is taken.
create function lanes_of(p_namespace text[], p_queue text[], p_workflow text[], p_version text[], p_priority int[])
returns int[] language plpgsql volatile set enable_seqscan = off set jit = off as $$
declare v_ids int[];
begin
  for v_round in 1..3 loop
    select array_agg(l.lane_id order by n.i) into v_ids
      from unnest(p_namespace, p_queue, p_workflow, p_version, p_priority)
           with ordinality as n(namespace, queue, workflow, version, priority, i)
      left join lanes l on l.namespace = n.namespace and l.queue = n.queue and l.workflow = n.workflow
                       and l.version = n.version and l.priority = n.priority;
    exit when array_position(v_ids, null) is null;
    insert into lanes (namespace, queue, workflow, version, priority)
    select distinct n.namespace, n.queue, n.workflow, n.version, n.priority
      from unnest(v_ids, p_namespace, p_queue, p_workflow, p_version, p_priority)
           as n(lane_id, namespace, queue, workflow, version, priority)
     where n.lane_id is null order by 1, 2, 3, 4, 5
    on conflict do nothing;
  end loop;
  return v_ids;
end $$;
