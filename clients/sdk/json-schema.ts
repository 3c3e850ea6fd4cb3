/** The part of JSON Schema from which types derive. Only the platform checks the other keywords. */
export interface JsonSchema {
  readonly type?: string | readonly string[]
  readonly properties?: { readonly [name: string]: JsonSchema }
  readonly required?: readonly string[]
  readonly items?: JsonSchema
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly JsonSchema[]
  readonly oneOf?: readonly JsonSchema[]
  readonly [keyword: string]: unknown
}

type Plain = { string: string; number: number; integer: number; boolean: boolean; null: null }

type Properties<Fields, Required extends string> = {
  -readonly [Name in keyof Fields as Name extends Required ? Name : never]: FromSchema<Fields[Name]>
} & {
  -readonly [Name in keyof Fields as Name extends Required ? never : Name]?: FromSchema<Fields[Name]>
}

type Simplify<Type> = { [Name in keyof Type]: Type[Name] }

/** The type of the values that conform to a schema. */
export type FromSchema<Schema> = Schema extends { const: infer Value }
  ? Value
  : Schema extends { enum: readonly (infer Value)[] }
    ? Value
    : Schema extends { anyOf: readonly (infer Choice)[] }
      ? FromSchema<Choice>
      : Schema extends { oneOf: readonly (infer Choice)[] }
        ? FromSchema<Choice>
        : Schema extends { type: 'object'; properties: infer Fields }
          ? Simplify<
              Properties<Fields, Schema extends { required: readonly (infer Name extends string)[] } ? Name : never>
            >
          : Schema extends { type: 'object' }
            ? Record<string, unknown>
            : Schema extends { type: 'array'; items: infer Item }
              ? FromSchema<Item>[]
              : Schema extends { type: infer Type }
                ? Type extends keyof Plain
                  ? Plain[Type]
                  : Type extends readonly (infer One)[]
                    ? One extends keyof Plain
                      ? Plain[One]
                      : unknown
                    : unknown
                : unknown
