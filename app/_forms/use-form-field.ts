"use client";
import { useContext, useEffect, useId } from "react";
import { FormFieldsContext } from "../_ui/controls/form-fields.ts";

interface FormField {
  /** Id of the control, and of the note that describes it. */
  id: string;
  noteId: string;
  error: string | undefined;
  /** Says that what stands in the control, or in one beside it, was changed. */
  changed: () => void;
}

/** Ties a control to a path of the form around it. `given` is an error that the caller shows whatever the form says. */
export function useFormField(path: string | undefined, given?: string): FormField {
  const id = useId();
  const form = useContext(FormFieldsContext);
  const register = form?.register;
  useEffect(() => (path === undefined ? undefined : register?.(id, path)), [register, id, path]);
  const error = given ?? (path === undefined ? undefined : form?.errorAt(path));
  return { id, noteId: `${id}-note`, error, changed: () => form?.changed(id) };
}
