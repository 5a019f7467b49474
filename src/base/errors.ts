/**
 * Every refusal in Kumiko is a KumikoError: a code to branch on, a sentence to act on, and the
 * facts needed for the next try. A code is never reused for a second meaning.
 */
export const errorCodes = {
  invalid_argument: "an argument has the wrong shape; facts name it",
  out_of_range: "a position, line or version lies outside what exists; facts give the valid range",
  split_character: "a position lies inside one character (a surrogate pair or a UTF-8 sequence)",
  ill_formed_text: "the text holds a lone surrogate, which no encoding can store",
  overlapping_operations: "two operations of one edit address the same text",
  base_required: "an edit by position names neither a base version nor the text it expects",
  conflict: "the text an edit addresses was changed since its base version",
  not_found: "the text to be replaced does not occur",
  ambiguous: "more than one place fits",
  invalid_pattern: "the regular expression or glob cannot be read; facts give the reason",
  invalid_rules: "the rules cannot be read; facts give file, line, column and what to write",
  timed_out: "it took longer than its deadline; nothing was changed",
  search_failed: "the thread that searched is gone; nothing else is affected",
  patch_malformed: "the input is not a unified diff that can be read",
  patch_rejected: "a hunk of a patch fits nowhere",
  nothing_to_undo: "there is no Edit to undo (or redo)",
  unknown_edit: "no Edit of that id is recorded here",
  done_in_part:
    "it failed halfway, and what was done could not be taken back; facts name the Edit or the file",
  edit_undone: "the Edit is undone; new text needs a new Edit",
  not_born: "the document has no replica form yet; give it a birth first",
  already_born: "the document already has its birth",
  import_rejected: "the update cannot be imported",
  frame_malformed: "a frame of a replica cannot be read",
  peer_taken: "the peer goes on with another connection",
  damaged: "stored bytes do not read back as what was written",
  unsupported_format: "stored bytes are of a format this version cannot read",
  disposed: "the object was disposed and may not be used",
  unknown_block: "there is no such block",
  not_on_disk: "the block stands for no file",
  unknown_conflict: "there is no such conflict, or it is resolved",
  unknown_context: "there is no such context",
  unknown_kernel: "there is no such kernel",
  unknown_tool: "there is no such tool, or it is filtered out",
  already_exists: "something of that name is already there",
  denied: "the rules do not allow it",
  wrong_status: "the block's status does not allow it",
  wrong_parent: "the block cannot stand there",
  call_reused: "the call id was used before with other arguments",
  quarantined: "what is stored of the block is damaged; nothing else is affected",
  fenced: "another process took over; this one may not write any more",
  outrun: "other servers changed the same again and again; nothing of the edit was kept",
  journal_unwritable: "the journal could not be written; nothing of the edit was kept",
  aborted: "the caller gave up; nothing was changed",
  resync: "the subscriber is too far behind; start again from a position",
  in_use: "another process has it open",
  closed: "it was closed and takes no more calls",
  file_unreadable: "a file cannot be read as text",
  file_unwritable: "a file cannot be written",
  file_absent: "there is no such file on disk",
  outside: "the path leads out of the folder",
  disk_moved: "what is on disk is not what the caller expected there; nothing was written",
  being_written: "somebody is writing the file at this moment; try again",
  root_gone: "the folder itself is not there any more, or another stands in its place",
  unauthorised: "no token, or one that is not known, was revoked or has expired",
  forbidden: "the token does not allow it, or the request comes from where none may come",
  unknown_token: "there is no such token",
  unknown_path: "the server has nothing at that path",
  too_large: "more than the limit; facts give it",
  too_many: "too many at once or in a second; facts say which limit and when to try again",
  closing: "the server stops: it takes no new work and ends what listens",
  unreachable: "the server does not answer",
  protocol_mismatch: "the other end speaks another version of the protocol; facts give both",
  offline: "there was no connection; facts say whether the call may have been carried out",
  internal: "a fault of ours; the log explains the reference in the facts",
} as const;

export type ErrorCode = keyof typeof errorCodes;

/** Plain JSON: facts cross process and language boundaries unchanged. */
export type Fact =
  | string
  | number
  | boolean
  | null
  | readonly Fact[]
  | { readonly [name: string]: Fact };
export type Facts = { readonly [name: string]: Fact };

export class KumikoError extends Error {
  override readonly name = "KumikoError";
  readonly code: ErrorCode;
  readonly facts: Facts;

  constructor(code: ErrorCode, sentence: string, facts: Facts = {}, options?: ErrorOptions) {
    super(sentence, options);
    this.code = code;
    this.facts = facts;
  }

  toJSON(): { code: ErrorCode; message: string; facts: Facts } {
    return { code: this.code, message: this.message, facts: this.facts };
  }
}
