-- Options of servers and foreign tables, and the privileges they need.

-- servers: a warehouse is needed, and must be a local absolute path
CREATE SERVER other FOREIGN DATA WRAPPER streamhouse;
CREATE SERVER other FOREIGN DATA WRAPPER streamhouse OPTIONS (warehouse '/srv/lake', region 'north');
CREATE SERVER other FOREIGN DATA WRAPPER streamhouse OPTIONS (warehouse 's3://bucket/lake');
CREATE SERVER other FOREIGN DATA WRAPPER streamhouse OPTIONS (warehouse 'lake');
CREATE SERVER other FOREIGN DATA WRAPPER streamhouse OPTIONS (warehouse 'file:///nowhere/lake');
IMPORT FOREIGN SCHEMA shop FROM SERVER other INTO public;
CREATE FOREIGN TABLE nowhere (id int) SERVER other OPTIONS (database 'shop', "table" '../../etc');
CREATE FOREIGN TABLE nowhere (id int) SERVER other OPTIONS (database 'sh/op');
CREATE FOREIGN TABLE nowhere (id int) SERVER other OPTIONS ("table" '');
CREATE FOREIGN TABLE nowhere (id int) SERVER other OPTIONS (primary_key 'id', "primary-key" 'id');
CREATE USER MAPPING FOR CURRENT_USER SERVER other OPTIONS (password 'secret');
ALTER FOREIGN DATA WRAPPER streamhouse OPTIONS (ADD warehouse '/srv/lake');
DROP SERVER other;

-- the server's owner must be allowed to read and write files; whom he grants the server need not
CREATE ROLE regress_lake_owner;
CREATE ROLE regress_lake_user;
GRANT USAGE ON FOREIGN DATA WRAPPER streamhouse TO regress_lake_owner;
CREATE SCHEMA options;
GRANT ALL ON SCHEMA options TO regress_lake_owner, regress_lake_user;
SET ROLE regress_lake_owner;
CREATE SERVER theirs FOREIGN DATA WRAPPER streamhouse OPTIONS (warehouse '/srv/lake');
RESET ROLE;
GRANT pg_read_server_files TO regress_lake_owner;
DO $$ BEGIN
	EXECUTE format('CREATE SERVER theirs FOREIGN DATA WRAPPER streamhouse OPTIONS (warehouse %L)',
				   current_setting('data_directory') || '/streamhouse_regress');
END $$;
ALTER SERVER theirs OWNER TO regress_lake_owner;
GRANT USAGE ON FOREIGN SERVER theirs TO regress_lake_user;
SET ROLE regress_lake_user;
CREATE FOREIGN TABLE options.first_one (id int, note text) SERVER theirs OPTIONS (database 'public');
SELECT * FROM options.first_one;
INSERT INTO options.first_one VALUES (2, 'not allowed');
CREATE FOREIGN TABLE options.another (id int) SERVER theirs;
RESET ROLE;
GRANT pg_write_server_files TO regress_lake_owner;
SET ROLE regress_lake_user;
CREATE FOREIGN TABLE options.another (id int) SERVER theirs;
INSERT INTO options.another VALUES (1);
SELECT * FROM options.another;
RESET ROLE;
REVOKE pg_read_server_files FROM regress_lake_owner;
SELECT * FROM options.another;
SET ROLE regress_lake_user;
SELECT * FROM public.first_one;
RESET ROLE;
DROP SCHEMA options CASCADE;
DROP SERVER theirs;
REVOKE USAGE ON FOREIGN DATA WRAPPER streamhouse FROM regress_lake_owner;
DROP ROLE regress_lake_owner, regress_lake_user;

-- settings of the extension are known, others of its name are not
SHOW streamhouse.pushdown;
SHOW streamhouse.write_buffer_size;
SET streamhouse.pushdwon = off;
