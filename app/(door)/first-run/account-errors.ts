import { setupInput } from "#protocol/wire/requests.ts";

export interface AccountDraft {
  code: string;
  email: string;
  password: string;
}
export type AccountErrors = { [Field in keyof AccountDraft]?: string | undefined };

/** What the hub would say about each field, by the same rules, before it is asked; empty when it would take them. */
export function accountErrors(draft: AccountDraft): AccountErrors {
  const errors: AccountErrors = {};
  for (const issue of setupInput.safeParse(draft).error?.issues ?? []) {
    const field = issue.path[0];
    if (field === "email" || field === "password") errors[field] ??= issue.message;
    if (field === "code") errors.code ??= draft.code === "" ? "the code from the hub's console" : issue.message;
  }
  return errors;
}
