export const START_WITH_OTHERS = String.raw`
-- The parts of a start that concern other runs: its parent, and the messages that come with it.

-- Why runs may not start these children: not_allowed, parent_closed or parent_busy; null: they may. A parent stays open until
-- the caller commits: its row is locked. For the first child, nothing else may change the row, as this notes that there are children;
-- after that, KEY SHARE is enough: an end of a run with children asks for a lock that excludes it, and no other commit does.
-- Nothing waits.
create function refuse_children(
  p_open int[], p_run uuid[], p_namespace text[], p_parent_namespace text[], p_parent uuid[], p_depth smallint[])
returns text[] language plpgsql volatile set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
set enable_mergejoin = off as $$
declare
  v_part boolean := cardinality(p_open) < cardinality(p_run); v_locked uuid[]; v_first uuid[];
  v_some uuid[] := array(select distinct p_parent[k.i] from unnest(p_open) k(i)
                          where is_allowed(p_namespace[k.i], p_parent_namespace[k.i]));
begin
  v_locked := array(
    select r.run_id from unnest(v_some) p(run_id) join runs r on r.run_id = p.run_id
     where r.has_children and r.ended_at is null for key share of r skip locked);
  v_first := array(
    select r.run_id from unnest(v_some) p(run_id) join runs r on r.run_id = p.run_id
     where r.has_children is null and r.ended_at is null for no key update of r skip locked);
  if cardinality(v_first) > 0 then
    update runs r set has_children = true where r.run_id = any (v_first);
    v_locked := v_locked || v_first;
  end if;
  return array(
    select case when p_depth[k.i] is null or v_part and k.i <> all (p_open) then null
                when not is_allowed(p_namespace[k.i], p_parent_namespace[k.i]) then 'not_allowed'
                when r.run_id is null or c.given_up then 'parent_closed'
                when r.run_id <> all (v_locked) then 'parent_busy' end
      from generate_subscripts(p_run, 1) k(i)
      left join lateral (select s.namespace from run_starts s where s.run_id = p_parent[k.i] limit 1) s
             on s.namespace = p_parent_namespace[k.i]
      left join lateral (select x.run_id from runs x where x.run_id = case when s.namespace is not null then p_parent[k.i] end
                            and x.ended_at is null limit 1) r on true
      left join lateral (select c.given_up from children c
                          where c.parent_run_id = p_parent[k.i] and c.run_id = p_run[k.i] limit 1) c on true
     order by k.i);
end $$;

-- Before starts with messages are judged: locks the open runs of their ids, and finds the starts whose first message was
-- delivered to the newest run of the id, or to one that it continues, and was not in vain (wasInVain in model/decisions/delivery.ts).
create function starts_with_messages(
  p_open int[], p_namespace text[], p_id text[], m_i int[], m_message text[], out o_known int[], out o_locked uuid[])
language plpgsql volatile set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
set enable_mergejoin = off as $$
begin
  o_locked := array(
    select r.run_id from (select distinct p_namespace[m.i] as namespace, p_id[m.i] as id from unnest(m_i) m(i) where m.i = any (p_open)) k
     cross join lateral (select s.run_id from run_starts s where s.namespace = k.namespace and s.id = k.id order by s.nth desc limit 1) last
      join runs r on r.run_id = last.run_id where r.ended_at is null for no key update of r skip locked);
  o_known := array(
    select f.i from (select distinct on (m.i) m.i, m.message from unnest(m_i, m_message) with ordinality as m(i, message, n)
                      where m.i = any (p_open) order by m.i, m.n) f
     cross join lateral (select coalesce(s.chain_id, s.run_id) as chain_id, s.run_id from run_starts s where s.namespace = p_namespace[f.i] and s.id = p_id[f.i]
                          order by s.nth desc limit 1) last
     where (select 1 from inbox x where x.chain_id = last.chain_id and hashtext(x.message_id) = hashtext(f.message)
               and x.message_id = f.message limit 1) is not null
       and (select 1 from runs r
              join inbox x on x.chain_id = last.chain_id and hashtext(x.message_id) = hashtext(f.message) and x.message_id = f.message
               and x.run_id = r.run_id
              left join replies p on p.run_id = x.run_id and p.number = x.number
             where r.run_id = last.run_id and r.ended_at is not null
               and (x.number > r.consumed or convert_from(p.error, 'UTF8')::json ->> 'code' = 'run_closed') limit 1) is null);
end $$;

-- Delivers the messages to the runs that were created or found. A run that was found and is locked makes its start busy: nothing
-- of it has happened then. Starts with messages are answered with the rows of their runs, the created ones too.
create function deliver_with_starts(
  p_run uuid[], p_namespace text[], r_i int[], r_outcome text[], r_run uuid[], f_i int[],
  m_i int[], m_kind text[], m_name text[], m_message text[], m_payload bytea[], p_inbox_max int,
  out o_messages json, out o_lines text[], out o_i int[], out o_outcome text[], out o_run uuid[],
  out o_fresh int[])     -- created without messages
language plpgsql volatile as $$
declare v_k int[]; v_to uuid[]; v_busy int[]; v_i int[]; v_got text[]; v_hints text;
begin
  o_fresh := array(select f.i from unnest(f_i) f(i) where f.i <> all (m_i));
  o_i := r_i || array(select f.i from unnest(f_i) f(i) where f.i = any (m_i));
  o_outcome := r_outcome || array(select 'created' from unnest(f_i) f(i) where f.i = any (m_i));
  o_run := r_run || array(select p_run[f.i] from unnest(f_i) f(i) where f.i = any (m_i));
  select array_agg(m.k::int order by m.k), array_agg(t.run_id order by m.k) into v_k, v_to
    from unnest(m_i) with ordinality as m(i, k) join unnest(o_i, o_outcome, o_run) as t(i, outcome, run_id) on t.i = m.i
   where t.outcome in ('created', 'returned');
  if v_k is null then return; end if;
  select array_agg(v_k[d.i]) filter (where d.i > 0), array_agg(d.outcome) filter (where d.i > 0), max(d.hints)
    into v_i, v_got, v_hints
    from deliver_messages(v_to, array(select p_namespace[m_i[v.k]] from unnest(v_k) with ordinality as v(k, n) order by v.n),
      array_fill(null::text, array[cardinality(v_k)]),
      array(select m_kind[v.k] from unnest(v_k) with ordinality as v(k, n) order by v.n),
      array(select m_name[v.k] from unnest(v_k) with ordinality as v(k, n) order by v.n),
      array(select m_message[v.k] from unnest(v_k) with ordinality as v(k, n) order by v.n),
      array(select m_payload[v.k] from unnest(v_k) with ordinality as v(k, n) order by v.n), p_inbox_max, false) d;
  o_lines := string_to_array(v_hints, E'\n');
  v_busy := array(select distinct m_i[d.k] from unnest(v_i, v_got) as d(k, outcome) where d.outcome = 'busy');
  o_outcome := array(select case when t.i = any (v_busy) then 'busy' else t.outcome end
                       from unnest(o_i, o_outcome) with ordinality as t(i, outcome, n) order by t.n);
  select json_object_agg(g.i, g.outcomes) into o_messages
    from (select m_i[d.k] as i,
                 json_agg(case d.outcome when 'not_found' then 'closed' else d.outcome end order by d.k) as outcomes
            from unnest(v_i, v_got) as d(k, outcome) where m_i[d.k] <> all (v_busy) group by m_i[d.k]) g;
end $$;
`;
