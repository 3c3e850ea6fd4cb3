import type { Migration } from '../../../core/data/migrations.ts'

/** The author of an asset, and the licenses among which its users may choose. */
export const authorMigration: Migration = {
  name: '2026_11_29_author',
  sqlite: [
    'alter table `assets` add column `author` text null',
    'create table `asset_licenses` (`license` text not null, `asset_id` text not null, primary key (`license`, `asset_id`))',
    'create index `asset_licenses_asset_id_index` on `asset_licenses` (`asset_id`)',
    // The characters that a license may have need no escape in JSON.
    "insert into `asset_licenses` (`license`, `asset_id`) select distinct lower(`choice`.`value`), `assets`.`id` from `assets`, json_each(case when `license` like '%(%' then json_array(`license`) else '[\"' || replace(`license`, ' OR ', '\",\"') || '\"]' end) as `choice` where `license` is not null",
  ],
  postgres: [
    'alter table "assets" add "author" varchar(200) null',
    'create table "asset_licenses" ("license" varchar(100) not null, "asset_id" varchar(30) not null, primary key ("license", "asset_id"))',
    'create index "asset_licenses_asset_id_index" on "asset_licenses" ("asset_id")',
    'insert into "asset_licenses" ("license", "asset_id") select distinct lower("choice"), "assets"."id" from "assets", unnest(case when "license" like \'%(%\' then array["license"::text] else string_to_array("license", \' OR \') end) as "choice" where "license" is not null',
  ],
}
