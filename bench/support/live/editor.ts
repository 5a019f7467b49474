/** Two people in one text, whoever's server stands between them. */

export interface Editor {
  readonly length: number;
  insert(at: number, text: string): void;
  /** Called after every change that came from outside. */
  onRemote(listener: () => void): void;
  close(): Promise<void> | void;
}

export interface Contender extends AsyncDisposable {
  readonly name: string;
  /** Two editors of one new, empty text, both connected. */
  pair(): Promise<readonly [Editor, Editor]>;
}

/** Resolves when both have a text of that length. */
export async function together(pair: readonly [Editor, Editor], length: number): Promise<void> {
  await Promise.all(
    pair.map((editor) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const look = (): void => {
        if (editor.length >= length) resolve();
      };
      editor.onRemote(look);
      look();
      return promise;
    }),
  );
}
