/** What is to become of one file. Null bytes: the file does not exist. */
export interface FileChange {
  /** As people know it. */
  readonly path: string;
  /** The real file; never a link. */
  readonly file: string;
  readonly before: Uint8Array | null;
  readonly after: Uint8Array | null;
  /** Permission bits of the result; null leaves them to the umask. */
  readonly mode: number | null;
  /** Counts only where `mode` is null. */
  readonly executable: boolean;
  readonly owner: { readonly uid: number; readonly gid: number } | null;
}
