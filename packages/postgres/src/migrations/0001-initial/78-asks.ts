export const ASKS = String.raw`
-- Queries that wait for a worker. Nothing here waits: what another transaction has locked is left to it.

-- Those whose time is over.
create function forget_old_asks(p_now bigint) returns void
language plpgsql volatile set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  delete from asks a where a.ctid = any (array(
    select x.ctid from asks x where x.gone_at <= p_now order by x.gone_at limit 1000 for update skip locked));
end $$;

create function put_asks(
  p_ask uuid[], p_namespace text[], p_run uuid[], p_workflow text[], p_version text[], p_name text[], p_payload bytea[],
  p_ttl bigint[], p_notify boolean, out o_hints text)
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan set enable_bitmapscan = off as $$
declare v_now bigint := now_ms(); v_lines text[];
begin
  perform forget_old_asks(v_now);
  with put as (
    insert into asks (ask_id, namespace, run_id, workflow, version, name, payload, gone_at, open_at)
    select a.ask_id, a.namespace, a.run_id, a.workflow, a.version, a.name, a.payload, v_now + a.ttl, v_now
      from unnest(p_ask, p_namespace, p_run, p_workflow, p_version, p_name, p_payload, p_ttl) with ordinality
           as a(ask_id, namespace, run_id, workflow, version, name, payload, ttl, i) order by a.i
    on conflict do nothing returning namespace)
  select array_agg(distinct E'a\t' || p.namespace) into v_lines from put p;
  o_hints := send_hints(coalesce(v_lines, '{}'), p_notify);
end $$;

-- 3 s: ASK_TAKE_MS.
create function take_asks(p_namespace text, p_workflows text[], p_versions text[], p_limit int)
returns table (ask_id uuid, namespace text, run_id uuid, workflow text, version text, name text, payload bytea, more boolean)
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan set enable_bitmapscan = off as $$
#variable_conflict use_column
declare v_now bigint := now_ms(); v_rows tid[];
begin
  perform forget_old_asks(v_now);
  v_rows := array(
    select a.ctid from asks a
     where a.namespace = p_namespace and not a.answered and a.open_at <= v_now and a.gone_at > v_now
       and (a.workflow, a.version) in (select * from unnest(p_workflows, p_versions))
     order by a.ask_no limit p_limit + 1 for no key update skip locked);
  return query
    with taken as (
      update asks a set open_at = v_now + 3000 where a.ctid = any (v_rows[1:p_limit]) returning a.*)
    select t.ask_id, t.namespace, t.run_id, t.workflow, t.version, t.name, t.payload, cardinality(v_rows) > p_limit
      from taken t order by t.ask_no;
end $$;

-- The first answer counts.
create function answer_asks(
  p_namespace text[], p_ask uuid[], p_answer bytea[], p_error bytea[], p_notify boolean, out o_hints text)
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan set enable_bitmapscan = off as $$
declare v_now bigint := now_ms(); v_rows tid[]; v_lines text[];
begin
  -- In the order of the keys: two answers to the same asks wait for each other at most once.
  v_rows := array(
    select a.ctid from asks a where a.ask_id = any (p_ask) and not a.answered and a.gone_at > v_now
     order by a.ask_id for no key update);
  with answered as (
    update asks a set answered = true, answer = k.answer, error = k.error
      from unnest(p_namespace, p_ask, p_answer, p_error) as k(namespace, ask_id, answer, error)
     where a.ctid = any (v_rows) and a.ask_id = k.ask_id and a.namespace = k.namespace and not a.answered
    returning a.ask_id)
  select hint_lines('n', array_agg(''::text), array_agg(g.ask_id)) into v_lines from answered g;
  o_hints := send_hints(coalesce(v_lines, '{}'), p_notify);
end $$;

create function forget_asks(p_namespace text[], p_ask uuid[]) returns void
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan set enable_bitmapscan = off as $$
begin
  -- One that is locked is being answered, or deleted: its time will be over.
  delete from asks a where a.ctid = any (array(
    select x.ctid from unnest(p_namespace, p_ask) as k(namespace, ask_id)
      join asks x on x.ask_id = k.ask_id and x.namespace = k.namespace for update of x skip locked));
end $$;
`;
