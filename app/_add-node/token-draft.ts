export const HOUR_MS = 3_600_000;

/** Input of the join token form, and of the commands to paste with the token. */
export interface TokenDraft {
  profileId: string | null;
  uses: string;
  validMs: string;
  /** Patterns of the runs that nodes with this token may write. Empty: runs that they name at enrollment, and new ones. */
  mayWrite: string;
  run: string;
  watchFolder: string;
}

export const FIRST_DRAFT: TokenDraft = {
  profileId: null,
  uses: "1",
  validMs: String(24 * HOUR_MS),
  mayWrite: "",
  run: "my-run",
  watchFolder: "/checkpoints",
};
