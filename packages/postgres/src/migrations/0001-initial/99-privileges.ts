export const PRIVILEGES = String.raw`
-- The functions act with the rights of whoever migrated. Nobody may call them who was not told so (docs/postgresql.md).
do $$ begin execute format('revoke execute on all functions in schema %I from public', current_schema()); end $$;
`;
