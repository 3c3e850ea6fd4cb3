import { defineEntity, p } from '@mikro-orm/core'
import type { Migration } from '../../core/data/migrations.ts'

const AccountSchema = defineEntity({
  name: 'ConformanceAccount',
  tableName: 'conformance_accounts',
  properties: {
    id: p.string().length(30).primary(),
    balance: p.integer(),
  },
})

export class Account extends AccountSchema.class {}
AccountSchema.setClass(Account)

const ItemSchema = defineEntity({
  name: 'ConformanceItem',
  tableName: 'conformance_items',
  properties: {
    id: p.string().length(30).primary(),
    accountId: p.string().length(30).nullable(),
    key: p.string().length(100).unique(),
    settings: p.json<Record<string, unknown>>(),
    done: p.boolean(),
    usedAt: p.datetime(3).nullable(),
    createdAt: p.datetime(3),
  },
})

export class Item extends ItemSchema.class {}
ItemSchema.setClass(Item)

export const entities = [Account, Item]

export const migrations: Migration[] = [
  {
    name: '2026_11_21_conformance',
    sqlite: [
      'create table conformance_accounts (id text not null primary key, balance integer not null)',
      'create table conformance_items (id text not null primary key, account_id text null references conformance_accounts (id) on delete cascade, key text not null unique, settings json not null, done integer not null, used_at datetime null, created_at datetime not null)',
    ],
    postgres: [
      'create table conformance_accounts (id varchar(30) not null primary key, balance int not null)',
      'create table conformance_items (id varchar(30) not null primary key, account_id varchar(30) null references conformance_accounts (id) on delete cascade, key varchar(100) not null unique, settings jsonb not null, done boolean not null, used_at timestamptz(3) null, created_at timestamptz(3) not null)',
    ],
  },
]
