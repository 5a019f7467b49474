/** Which folders a kernel has, among all kernels of its home: a file is in one folder of one kernel only. */
export interface FolderBook {
  /** Refuses a folder that has files in common with one that is taken. What is the kernel's already is so again. */
  take(root: string): Promise<void>;
  leave(root: string): Promise<void>;
  /** Those that the kernel took and did not leave. */
  taken(): Promise<readonly string[]>;
}
