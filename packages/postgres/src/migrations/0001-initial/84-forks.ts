export const FORKS = String.raw`
-- Creates a run whose history begins with the first events of another one. The lock keeps a purge away from those events, and no
-- commit of their run waits for it. Of a run that has the id already nothing is asked but its row.
create function fork_run(
  p_run uuid, p_namespace text, p_id text, p_workflow text, p_version text, p_queue text, p_priority int, p_seed text,
  p_input bytea, p_attributes text, p_timeout bigint, p_key text, p_origin uuid, p_copied int, p_judged int, p_numbered_from int,
  p_type smallint, p_payload bytea, p_meta bytea, p_notify boolean, out o_outcome text, out o_run json, out o_hints text)
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare r record; v record; v_no bigint; v_created bigint;
begin
  select s.namespace into v from run_starts s where s.run_id = p_run;
  if found then
    if v.namespace <> p_namespace then raise exception 'the run id % is taken', p_run using errcode = '23000'; end if;
    o_outcome := 'forked';
    select row_to_json(l) into o_run from lean_rows l where l.run_id = p_run;
    return;
  end if;
  select x.run_no, x.status, x.event_count, x.started_at, x.held_by, s.id, x.tail_op into r from runs x join run_starts s using (run_id)
   where x.run_id = p_origin and s.namespace = p_namespace for key share of x skip locked;
  if not found then
    o_outcome := case when (select 1 from run_starts s where s.run_id = p_origin and s.namespace = p_namespace) is null
                      then 'not_found' else 'busy' end;
    return;
  end if;
  if greatest(r.event_count, case when r.held_by is not null then (select e.seq from events e where e.run_no = r.run_no
                                                                    order by e.seq desc limit 1) end) < p_copied then o_outcome := 'not_found'; return; end if;
  if r.status = 'compensating' or (select 1 from events e where e.run_no = r.run_no and e.seq > p_judged
                                      and starts_with(e.op, 'compensate:') limit 1) is not null
     or r.event_count > p_judged and starts_with(r.tail_op, 'compensate:') then
    o_outcome := 'compensated';
    return;
  end if;
  for v in select s.i, s.outcome, s.run, s.hints from start_runs(
      array[p_run], array[p_namespace], array[p_id], array[p_workflow], array[p_version], array[p_queue], array[p_priority],
      array[p_seed], array[p_input], array[p_attributes], '{}', '{}', array[p_timeout], array[p_key], array['fail'], array['fail'], array[false],
      array[null]::double precision[], null, null, null, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}',
      null, null, null, null, null, null, true, p_notify) s loop
    if v.i = 0 then o_hints := v.hints; else o_outcome := v.outcome; o_run := v.run; end if;
  end loop;
  if o_outcome is not null then return; end if;
  update runs x set event_count = p_copied + 1, delivered = p_numbered_from, consumed = p_numbered_from,
      started_at = r.started_at, status = case when r.started_at is null then 'pending' else 'running' end::run_status
   where x.run_id = p_run returning x.run_no, x.created_at into v_no, v_created;
  update run_starts s set forked_from = p_origin, forked_from_id = r.id where s.run_id = p_run;
  insert into forks (origin_run_id, created_at, run_id, namespace, id) values (p_origin, v_created, p_run, p_namespace, p_id);
  insert into events (run_no, seq, type, op, at, payload, meta)
  select v_no, e.seq, e.type, e.op, e.at, e.payload, e.meta from events e
   where e.run_no = r.run_no and e.seq <= p_copied
  union all
  select v_no, x.event_count, x.tail_type, x.tail_op, x.tail_at, x.tail_payload, x.tail_meta from runs x
   where x.run_id = p_origin and x.tail_type is not null and x.event_count <= p_copied order by 2;
  insert into events (run_no, seq, type, at, payload, meta)
  values (v_no, p_copied + 1, p_type,
          greatest(now_ms(), coalesce(r.started_at, v_created), (select e.at from events e where e.run_no = v_no and e.seq = p_copied)),
          p_payload, p_meta);
  o_outcome := 'forked';
  select row_to_json(l) into o_run from lean_rows l where l.run_id = p_run;
end $$;
`;
