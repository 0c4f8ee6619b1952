export const PARKING = String.raw`
-- What the store itself records about a run, whose row is locked: that it is parked, or resumed.
create function append_note(p_run uuid, p_type smallint, p_meta bytea, p_now bigint) returns void
language plpgsql volatile as $$
begin
  with counted as (
    update runs r set event_count = r.event_count + 1 where r.run_id = p_run
    returning r.run_no, r.event_count as seq, coalesce(r.started_at, r.created_at) as begun
  )
  insert into events (run_no, seq, type, at, meta)
  select c.run_no, c.seq, p_type,
         greatest(p_now, c.begun, (select e.at from events e where e.run_no = c.run_no and e.seq = c.seq - 1)), p_meta
    from counted c
  -- A run whose history is damaged must still be parked.
  on conflict do nothing;
end $$;

-- Makes a parked run due again, whose row is locked; returns the lines of its hint. A run that begins later is hinted with its time.
create function resume_parked(p_run uuid, p_type smallint, p_meta bytea, p_due bigint, p_now bigint) returns text[]
language plpgsql volatile as $$
begin
  update runs r set status = case when r.started_at is null then 'pending' else 'running' end::run_status, epoch = r.epoch + 1,
      deaths = 0, alone_deaths = 0, suspect = false, error = null, parked_by = null,
      available_at = case when p_due > p_now then least(p_due, r.deadline_at) else p_now end where r.run_id = p_run;
  perform append_note(p_run, p_type, p_meta, p_now);
  return array(select E'd\t' || l.namespace || E'\t' || l.queue || case when r.available_at > p_now then E'\t' || r.available_at else '' end
                 from runs r join lanes l using (lane_id) where r.run_id = p_run);
end $$;

-- NOWAIT: if another transaction has the row locked, the call fails at once.
create function resume_run(
  p_run uuid, p_namespace text, p_id text, p_epoch int, p_type smallint, p_meta bytea, p_due bigint, p_notify boolean,
  out o_resumed boolean, out o_status run_status, out o_pauses boolean, out o_hints text)
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare v_run uuid := run_of(p_run, p_namespace, p_id); r record;
begin
  o_resumed := false;
  o_pauses := false;
  select x.status, x.epoch, x.consumed, x.started_at into r from runs x where x.run_id = v_run for no key update nowait;
  if not found then return; end if;
  o_status := r.status;
  o_pauses := (select 1 from inbox m where m.run_id = v_run and m.number > r.consumed and m.kind = 'pause' limit 1) is not null;
  if r.status <> 'parked' or r.epoch <> p_epoch then return; end if;
  o_hints := send_hints(resume_parked(v_run, p_type, p_meta, p_due, now_ms()), p_notify);
  o_resumed := true;
  o_status := case when r.started_at is null then 'pending' else 'running' end;
end $$;

-- Parks a run that nobody holds, because a person wants that. Cancels, pauses and resumes are orders: see isOrder.
create function pause_run(
  p_run uuid, p_namespace text, p_id text, p_epoch int, p_error bytea, p_type smallint, p_meta bytea, p_notify boolean,
  out o_outcome text, out o_hints text)
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare v_run uuid := run_of(p_run, p_namespace, p_id); r record;
begin
  select x.epoch, x.ended_at, x.held_by, x.consumed, x.awaited into r from runs x where x.run_id = v_run for no key update skip locked;
  if not found then
    o_outcome := case when (select 1 from runs x where x.run_id = v_run) is null then 'not_found' else 'busy' end;
    return;
  end if;
  o_outcome := case
    when r.ended_at is not null or r.epoch <> p_epoch then 'moved'
    when r.held_by is not null then 'held'
    when (select 1 from inbox m where m.run_id = v_run and m.number > r.consumed and m.kind in ('cancel', 'pause', 'resume') limit 1)
         is not null then 'behind'
    else 'parked' end;
  if o_outcome <> 'parked' then return; end if;
  update runs x set status = 'parked', epoch = x.epoch + 1, error = p_error, parked_by = 'paused', available_at = null,
      waiting_for = null, alone = false where x.run_id = v_run;
  if r.awaited then delete from lines l where l.run_id = v_run and l.seq = 0; end if;
  perform append_note(v_run, p_type, p_meta, now_ms());
  o_hints := send_hints(hint_lines('e', array(select s.namespace from run_starts s where s.run_id = v_run), array[v_run]), p_notify);
end $$;
`;
