CREATE EXTENSION streamhouse;
CREATE SERVER lake FOREIGN DATA WRAPPER streamhouse OPTIONS (warehouse :'warehouse');
CREATE PUBLICATION flights_pub FOR TABLE airlines, flights;

CALL streamhouse.create_sync('flights_sync', publication => 'flights_pub', server => 'lake', database => 'air',
  options => '{"bucket": "2", "snapshot.num-retained.min": "1", "snapshot.num-retained.max": "5"}');
CALL streamhouse.wait_for_sync('flights_sync', timeout => '5 minutes');

CREATE SCHEMA lake;
IMPORT FOREIGN SCHEMA air FROM SERVER lake INTO lake;
SELECT name, state FROM streamhouse.sync_status;
