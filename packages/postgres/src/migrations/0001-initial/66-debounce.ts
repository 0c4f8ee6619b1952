export const DEBOUNCE = String.raw`
-- Starts a run, or puts off the last one of its workflow and key that has not begun, with a new input. Calls for one key take turns;
-- the run itself is not waited for.
create function debounce_run(
  p_run uuid, p_namespace text, p_id text, p_workflow text, p_version text, p_queue text, p_priority int, p_seed text,
  p_input bytea, p_attributes text, p_timeout bigint, p_key text, p_pick double precision, p_by text, p_for bigint, p_max bigint,
  p_notify boolean, out o_outcome text, out o_run json, out o_hints text)
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare d debounces; r record; v record; v_now bigint; v_at bigint; v_end bigint; v_lane int;
begin
  perform pg_advisory_xact_lock(hashtextextended(current_schema() || E'\n\ndebounce\n' || p_namespace || E'\n' || p_workflow || E'\n' || p_by, 0));
  select * into d from debounces x where x.namespace = p_namespace and x.workflow = p_workflow and x.key = p_by;
  if d.call_id = p_run and (select 1 from runs x where x.run_id = d.run_id) is not null then
    o_outcome := case when d.run_id = p_run then 'created' else 'returned' end;
    select row_to_json(l) into o_run from lean_rows l where l.run_id = d.run_id;
    return;
  end if;
  if d.run_id is not null then
    perform 1 from runs x where x.run_id = d.run_id for no key update skip locked;
    if not found and (select 1 from runs x where x.run_id = d.run_id) is not null then
      o_outcome := 'busy';
      select row_to_json(l) into o_run from lean_rows l where l.run_id = d.run_id;
      return;
    end if;
    v_now := now_ms();
    select x.run_id, x.status, x.lane_id, x.created_at, x.deadline_at, x.awaited into r from runs x
     where x.run_id = d.run_id and x.started_at is null and x.ended_at is null and (x.deadline_at is null or x.deadline_at > v_now)
       and (select 1 from inbox m where m.run_id = x.run_id and m.number > x.consumed and m.kind = 'cancel' limit 1) is null;
    if found then
      update debounces x set call_id = p_run where x.namespace = p_namespace and x.workflow = p_workflow and x.key = p_by;
      -- It is what the newest start asks for, as a whole: also of its version, which knows its input, in its queue, and with its time.
      select l.o_lanes[1] into v_lane from lanes_of(array[p_namespace], array[p_queue], array[p_workflow],
        array[coalesce((select x.version from versions x where x.namespace = p_namespace and x.workflow = p_workflow and x.share > p_pick limit 1),
                       (select x.version from versions x where p_pick is not null and x.namespace = p_namespace
                           and x.workflow = p_workflow and x.is_default limit 1), p_version)], array[p_priority]) l;
      v_end := v_now + p_timeout;
      update run_starts s set input = p_input, lane_id = v_lane, timeout_ms = p_timeout where s.run_id = r.run_id;
      if v_lane <> r.lane_id or v_end is distinct from r.deadline_at then
        update runs x set lane_id = v_lane, deadline_at = v_end where x.run_id = r.run_id;
      end if;
      if p_attributes is null then
        delete from run_attributes a where a.run_id = r.run_id;
      else
        insert into run_attributes (run_id, attributes) values (r.run_id, p_attributes::jsonb)
        on conflict (run_id) do update set attributes = excluded.attributes;
      end if;
      if r.status <> 'parked' then
        if r.awaited then delete from lines l where l.run_id = r.run_id and l.seq = 0; end if;
        v_at := least(v_now + p_for, r.created_at + p_max);
        if v_at > v_now then v_at := least(v_at, v_end); end if;
        update runs x set available_at = v_at, waiting_for = null where x.run_id = r.run_id;
        o_hints := send_hints(array(select E'd\t' || l.namespace || E'\t' || l.queue || case when v_at > v_now then E'\t' || v_at else '' end
                                      from lanes l where l.lane_id = v_lane), p_notify);
      end if;
      o_outcome := 'returned';
      select row_to_json(l) into o_run from lean_rows l where l.run_id = r.run_id;
      return;
    end if;
  end if;
  for v in select s.i, s.outcome, s.run, s.hints from start_runs(
      array[p_run], array[p_namespace], array[p_id], array[p_workflow], array[p_version], array[p_queue], array[p_priority],
      array[p_seed], array[p_input], array[p_attributes], '{}', array[p_for], array[p_timeout], array[p_key], array['fail'], array['fail'],
      array[false], array[p_pick], null, null, null, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}',
      null, null, null, null, null, null, true, p_notify, true) s loop
    if v.i = 0 then o_hints := v.hints; else o_outcome := v.outcome; o_run := v.run; end if;
  end loop;
  if o_outcome is not null then return; end if;
  insert into debounces as x (namespace, workflow, key, run_id, call_id) values (p_namespace, p_workflow, p_by, p_run, p_run)
  on conflict (namespace, workflow, key) do update set run_id = p_run, call_id = p_run;
  o_outcome := 'created';
  select row_to_json(l) into o_run from lean_rows l where l.run_id = p_run;
end $$;
`;
