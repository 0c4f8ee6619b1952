export const LISTS = String.raw`
-- The kind and the code of an error, for lists and their filters; null if there is no error, or none that can be read.
-- PostgreSQL text cannot hold a NUL: it is shown as a replacement character.
create function error_codes(p_error bytea) returns text[] language plpgsql immutable parallel safe as $$
declare v_error json;
begin
  if p_error is null then return null; end if;
  v_error := replace(convert_from(p_error, 'UTF8'), '\u0000', '\ufffd')::json;
  return array[v_error ->> 'kind', v_error ->> 'code'];
exception when others then
  return null;
end $$;

-- Whether an error has this code or kind. A function that the planner cannot look into: it then expects a third of the runs to
-- match, and walks the index in order, until the page is full, instead of sorting all runs that did not complete.
create function error_matches(p_error bytea, p_wanted text) returns boolean language plpgsql immutable parallel safe
set search_path from current as $$
begin
  return coalesce(p_wanted = any (error_codes(p_error)), false);
end $$;
`;
