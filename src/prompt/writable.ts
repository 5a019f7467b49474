/** Readonly for callers; written by the files that own the invariant. */
export type Writable<Type> = { -readonly [Key in keyof Type]: Type[Key] };
