export const REPLIES = String.raw`
-- Answers to updates, with the commits of their runs. The first one stays. An update without an answer is accepted: only its
-- caller is hinted.
create function keep_replies(p_run uuid[], v_no bigint[], u_i int[], u_number int[], u_seq int[], u_error bytea[], p_now bigint)
returns text[] language plpgsql volatile set enable_seqscan = off set enable_bitmapscan = off as $$
declare v_owing uuid[];
begin
  with kept as (
    insert into replies as p (run_id, number, seq, error)
    select distinct on (m.run_id, m.number) m.run_id, m.number, u.seq, u.error
      from unnest(u_i, u_number, u_seq, u_error) with ordinality as u(i, number, seq, error, k)
      join inbox m on m.run_id = p_run[u.i] and m.number = u.number
     where v_no[u.i] is not null and (u.seq is not null or u.error is not null) and m.kind = 'update'
     order by m.run_id, m.number, u.k
    on conflict (run_id, number) do update set seq = excluded.seq, error = excluded.error where p.seq is null and p.error is null
    returning p.run_id, p.reply_to)
  select array_agg(distinct k.run_id) into v_owing from kept k where k.reply_to is not null;
  if v_owing is not null then perform owe(v_owing, 'reply', p_now); end if;
  return (select hint_lines('r', array_agg(''::text), array_agg(k.run_id))
            from (select distinct p_run[u.i] as run_id from unnest(u_i) u(i) where v_no[u.i] is not null) k);
end $$;

-- Where updates stand. Of a chain, the run that has not handed the update on; none if that one was purged.
create function read_replies(p_run uuid[], p_namespace text[], p_id text[], p_message text[])
returns table (i int, run_id uuid, status run_status, name text, number int, consumed int, answered boolean, error bytea,
  seq int, type smallint, op text, at bigint, payload bytea, meta bytea)
language plpgsql stable security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan
set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off as $$
#variable_conflict use_column
begin
  return query
    select k.i, r.run_id, r.status, m.name, m.number, r.consumed, p.seq is not null or p.error is not null, p.error,
           e.seq, e.type, e.op, e.at, e.payload, e.meta
      from generate_subscripts(p_message, 1) k(i)
     cross join lateral (
       select x.run_id, x.number, x.name
         from run_starts s
         join inbox x on x.chain_id = coalesce(s.chain_id, s.run_id) and hashtext(x.message_id) = hashtext(p_message[k.i]) and x.message_id = p_message[k.i]
         join runs o on o.run_id = x.run_id
        -- Nearly always the run itself.
        where s.run_id = case when (select b.namespace from run_starts b where b.run_id = p_run[k.i]) = p_namespace[k.i] then p_run[k.i]
                              else run_of(p_run[k.i], p_namespace[k.i], p_id[k.i]) end and x.kind = 'update'
          and not (o.status = 'continued' and x.number > o.consumed) limit 1) m
      join runs r on r.run_id = m.run_id
      left join replies p on p.run_id = m.run_id and p.number = m.number
      left join events e on e.run_no = r.run_no and e.seq = p.seq;
end $$;
`;
