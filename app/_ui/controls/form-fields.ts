import { createContext } from "react";

/** What the fields of a form share with the form around them. */
export interface FormFields {
  /** What is wrong with the field of a path, as far as it is to be shown. */
  errorAt: (path: string) => string | undefined;
  /** The control with this id stands for a path of the call. Returns what takes it back. */
  register: (id: string, path: string) => () => void;
  /** What stands in the control was changed; said only by controls without a change event of their own. */
  changed: (id: string) => void;
}

export const FormFieldsContext = createContext<FormFields | null>(null);
