"use client";
import { useContext, useEffect, useId } from "react";
import { FormFieldsContext } from "../_ui/controls/form-fields.ts";

interface FormField {
  /** Id of the control; `noteId` is the id of its hint or error. */
  id: string;
  noteId: string;
  error: string | undefined;
  /** Reports a change of the control or of one beside it. */
  changed: () => void;
}

/** Binds a control to a path of the surrounding form. `given` is an error that takes precedence over the form's. */
export function useFormField(path: string | undefined, given?: string): FormField {
  const id = useId();
  const form = useContext(FormFieldsContext);
  const register = form?.register;
  useEffect(() => (path === undefined ? undefined : register?.(id, path)), [register, id, path]);
  const error = given ?? (path === undefined ? undefined : form?.errorAt(path));
  return { id, noteId: `${id}-note`, error, changed: () => form?.changed(id) };
}
