export const TRANSACT = String.raw`
-- Transaction steps. The application's statements and the step's result message commit together. The message is in the run's
-- inbox; there is one per step.

-- The last statement of such a transaction. From here until the commit the run's row is locked: its holder and the number of
-- the message can no longer change.
create function record_outcome(
  p_token text, p_namespace text, p_worker uuid, p_run uuid, p_epoch int, p_op text, p_message text, p_payload bytea)
returns table (number int, at bigint)
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare v_chain uuid; v_number int; v_now bigint;
begin
  if current_setting('holdfast.transaction', true) is distinct from p_token then
    raise exception 'the transaction of step "%" was ended by hand', p_op using errcode = 'HF004';
  end if;
  perform 1 from runs r where r.run_id = p_run for no key update;
  select coalesce(s.chain_id, s.run_id) into v_chain from run_starts s where s.run_id = p_run and s.namespace = p_namespace;
  if exists (select 1 from inbox m where m.chain_id = v_chain and hashtext(m.message_id) = hashtext(p_message) and m.message_id = p_message
                                     and m.run_id = p_run) then
    raise exception 'step "%" has happened before', p_op using errcode = 'HF003';
  end if;
  update runs r set delivered = r.delivered + 1
   where r.run_id = p_run and r.epoch = p_epoch and r.held_by = p_worker and v_chain is not null returning r.delivered into v_number;
  if v_number is null then
    raise exception 'run % belongs to somebody else', p_run using errcode = 'HF002';
  end if;
  v_now := now_ms();
  insert into inbox (run_id, chain_id, number, kind, name, message_id, payload, at)
  values (p_run, v_chain, v_number, 'outcome', p_op, p_message, p_payload, v_now);
  return query select v_number, v_now;
end $$;

-- Finds the outcome of a transaction whose commit was not answered. It waits for a transaction that is still in flight: that
-- one has the row locked, or has not come so far and never will, because its connection, which is not this one, is gone.
create function find_outcome(p_namespace text, p_run uuid, p_message text)
returns table (run_id uuid, number int, kind text, name text, message_id text, payload bytea, at bigint)
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
begin
  perform 1 from runs r where r.run_id = p_run for no key update;
  return query
    select m.run_id, m.number, m.kind, m.name, m.message_id, m.payload, m.at
      from run_starts s join inbox m on m.chain_id = coalesce(s.chain_id, s.run_id) and hashtext(m.message_id) = hashtext(p_message)
       and m.message_id = p_message and m.run_id = p_run
     where s.run_id = p_run and s.namespace = p_namespace;
end $$;
`;
