import { createContext } from "react";

/** The part of a form that its fields use. */
export interface FormFields {
  /** Returns the error of the field at a path, or undefined when no error is to be shown. */
  errorAt: (path: string) => string | undefined;
  /** Binds the control with this id to a path of the call's input. Returns a function that unbinds it. */
  register: (id: string, path: string) => () => void;
  /** Reports a change of a control. Only controls without a native change event call this. */
  changed: (id: string) => void;
}

export const FormFieldsContext = createContext<FormFields | null>(null);
