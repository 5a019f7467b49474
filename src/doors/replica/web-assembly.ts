/** A compiled module; threads can be given one. */
export type WasmModule = object;

interface Instance {
  readonly exports: { readonly memory: { readonly buffer: ArrayBuffer } };
}

/** What is used of WebAssembly here: TypeScript knows the rest of it only in browsers. */
export const wasm = Reflect.get(globalThis, "WebAssembly") as {
  compile(bytes: Uint8Array): Promise<WasmModule>;
  Module: new (bytes: Uint8Array) => WasmModule;
  Instance: new (module: WasmModule, imports: object) => Instance;
};
