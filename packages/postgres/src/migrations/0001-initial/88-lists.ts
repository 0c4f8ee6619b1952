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
`;
