import type { WasmModule } from "./web-assembly.ts";

/** What a vetting worker is started with. */
export interface VettingStart {
  readonly module: WasmModule;
  /** Holds the number of the update that is being looked at; 0 when there is none. Outlives the worker. */
  readonly current: Int32Array<SharedArrayBuffer>;
}

export type ToVetting =
  | { readonly kind: "open"; readonly shadow: number; readonly bytes: Uint8Array }
  | { readonly kind: "advance"; readonly shadow: number; readonly updates: readonly Uint8Array[] }
  | { readonly kind: "close"; readonly shadow: number }
  | {
      readonly kind: "vet";
      readonly id: number;
      readonly shadow: number;
      readonly peer: string;
      readonly counter: number;
      readonly bytes: Uint8Array;
    };

/** `memory`: bytes that Loro has taken, which it never gives back. */
export type FromVetting =
  | { readonly id: number; readonly memory: number; readonly changes: unknown }
  | { readonly id: number; readonly memory: number; readonly refused: string }
  /** Loro is broken: nothing more can be asked of this worker. */
  | { readonly id: number; readonly trap: string };
