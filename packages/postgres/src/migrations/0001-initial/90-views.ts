export const VIEWS = String.raw`
-- For people with psql. The store itself does not read these views. Times are timestamps; payloads that are JSON are shown as JSON.

-- PostgreSQL text cannot hold a NUL: it is shown as a replacement character.
create function payload_json(p bytea) returns json language plpgsql immutable as $$
begin
  if p is null or length(p) = 0 then return null; end if;
  if get_byte(p, 0) >= 9 then return replace(convert_from(p, 'UTF8'), '\u0000', '\ufffd')::json; end if;
  return to_json(p::text);
exception when others then
  return to_json(p::text);
end $$;

-- Also null if the JSON contains text that PostgreSQL cannot parse, such as half a surrogate pair.
create function json_field(p json, p_key text) returns json language plpgsql immutable as $$
begin
  return p -> p_key;
exception when others then
  return null;
end $$;

create function at_time(p_ms bigint) returns timestamptz language sql immutable as
$$ select to_timestamp(p_ms / 1000.0) $$;

-- A claim has an id with the time at which its worker made it; a run that is started and held at once may have an older one.
create function claimed_at(p_claim uuid, p_created bigint) returns timestamptz language sql immutable as $$
  select case when p_claim is not null
    then to_timestamp(greatest(p_created, ('x' || left(replace(p_claim::text, '-', ''), 12))::bit(48)::bigint) / 1000.0) end $$;

-- By position in the list of event types, which only grows.
create function event_type_name(p_type smallint) returns text language sql immutable as $$
  select (array['run_started', 'run_completed', 'run_failed', 'run_canceled', 'run_terminated', 'run_timed_out',
    'run_continued', 'step_started', 'step_attempt_failed', 'step_completed', 'step_failed', 'timer_created',
    'timer_fired', 'signal_received', 'cancel_requested', 'deadline_reached', 'side_effect', 'patched',
    'attributes_set', 'run_retried', 'op_retired', 'task_scheduled', 'task_completed',
    'task_failed', 'op_canceled', 'op_rescheduled', 'child_started', 'child_completed', 'child_failed',
    'message_sent', 'message_failed', 'update_accepted', 'update_rejected', 'update_completed', 'pause_requested',
    'run_parked', 'run_resumed', 'run_forked', 'lock_requested', 'lock_granted', 'lock_released', 'run_restarted',
    'run_noted', 'run_moved', 'signal_handed_on'])[p_type + 1] $$;

create view readable_runs as
select v.namespace, v.id, v.run_id, v.workflow, v.version, v.queue, v.priority, v.status,
       array(select regexp_replace(w, '#0[0-9]$', '') from unnest(v.waiting_for) w) as waiting_for, at_time(v.available_at) as due_at, w.name as held_by,
       claimed_at(v.claim_id, v.created_at) as held_since, at_time(w.lease_expires_at) as lease_expires_at,
       at_time(v.created_at) as created_at, at_time(v.started_at) as started_at, at_time(v.ended_at) as ended_at,
       at_time(v.deadline_at) as deadline_at, v.event_count as events, v.delivered - v.consumed as messages_waiting,
       v.deaths, v.suspect, v.attributes, payload_json(v.input) as input, payload_json(v.output) as output,
       payload_json(v.error) as error, v.compensation, v.continued_from, v.continued_as,
       v.lineage
  from run_rows v left join workers w on w.worker_id = v.held_by;

create view readable_events as
select s.namespace, s.id, s.run_id, e.seq, event_type_name(e.type) as type, e.op, at_time(e.at) as at,
       payload_json(e.payload) as payload, payload_json(e.meta) as meta
  from events e join runs r using (run_no) join run_starts s on s.run_id = r.run_id
union all
select s.namespace, s.id, s.run_id, r.event_count, event_type_name(r.tail_type), r.tail_op, at_time(r.tail_at),
       payload_json(r.tail_payload), payload_json(r.tail_meta)
  from runs r join run_starts s using (run_id) where r.tail_type is not null;

create view readable_steps as
select e.namespace, e.id, e.run_id, e.op as step,
       case (array_agg(e.type order by e.seq desc))[1] when 'step_completed' then 'completed' when 'step_failed' then 'failed'
            when 'step_attempt_failed' then 'retrying' else 'started' end as status,
       coalesce(max(json_field(e.meta, 'attempt')::text::int), 1) as attempt,
       min(e.at) filter (where e.type = 'step_started') as started_at,
       max(e.at) filter (where e.type in ('step_completed', 'step_failed')) as ended_at,
       at_time(max(json_field(e.meta, 'retryAt')::text::numeric::bigint)) as retry_at,
       (array_agg(e.payload order by e.seq) filter (where e.type = 'step_completed'))[1] as result,
       (array_agg(json_field(e.meta, 'error') order by e.seq desc) filter (where e.type in ('step_failed', 'step_attempt_failed')))[1]
         as error
  from readable_events e where e.type like 'step\_%'
 group by e.namespace, e.id, e.run_id, e.op;

create view readable_timers as
select c.namespace, c.id, c.run_id, c.op as timer, at_time(json_field(c.meta, 'fireAt')::text::numeric::bigint) as fires_at, c.at as created_at,
       f.at as fired_at
  from readable_events c
  left join readable_events f on f.run_id = c.run_id and f.op = c.op and f.seq > c.seq and f.type = 'timer_fired'
 where c.type = 'timer_created';

create view readable_messages as
select s.namespace, s.id, m.run_id, m.number, m.kind, m.name, m.message_id, at_time(m.at) as delivered_at,
       m.number <= r.consumed as consumed, payload_json(m.payload) as payload, p.reply_to, p.seq as answered_by,
       payload_json(p.error) as error
  from inbox m join run_starts s using (run_id) join runs r using (run_id)
  left join replies p on p.run_id = m.run_id and p.number = m.number;

create view readable_tasks as
select v.namespace, s.id, v.run_id, v.seq, v.op as task, v.name, v.queue, v.requires, v.priority, v.status,
       at_time(v.available_at) as due_at, w.name as held_by, claimed_at(v.claim_id, v.created_at) as held_since, v.attempt,
       at_time(v.created_at) as created_at,
       at_time(v.expires_at) as expires_at, v.expires, v.canceled, v.deaths, v.suspect, payload_json(v.input) as input,
       payload_json(v.details) as details, payload_json(v.failures) as failures
  from task_rows v join run_starts s using (run_id) left join workers w on w.worker_id = v.held_by;

create view readable_children as
select p.namespace, p.id, c.parent_run_id as run_id, c.namespace as child_namespace, c.id as child_id, c.run_id as child_run_id, r.status,
       at_time(c.created_at) as created_at, s.parent_op as op, c.policy, c.given_up
  from children c join run_starts p on p.run_id = c.parent_run_id
  left join run_starts s on s.run_id = c.run_id left join runs r on r.run_id = c.run_id
 where s.run_id is not null or not c.closed;

create view readable_debts as
select s.namespace, s.id, s.run_id, d.kind, at_time(d.at) as since from debts d join run_starts s using (run_id);

create view readable_leases as
select w.namespace, w.name, w.worker_id, w.status, w.died, w.queues, w.workflows, w.tasks, w.labels,
       at_time(w.started_at) as started_at, at_time(w.heartbeat_at) as heartbeat_at,
       at_time(w.lease_expires_at) as expires_at, at_time(w.stopped_at) as stopped_at,
       (select count(*) from runs r where r.held_by = w.worker_id) as runs_held,
       (select count(*) from tasks t where t.held_by = w.worker_id) as tasks_held
  from workers w;
`;
