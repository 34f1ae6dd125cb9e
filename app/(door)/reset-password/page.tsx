import type { Metadata } from "next";
import { CodeForm } from "../_code/code-form.tsx";

export const metadata: Metadata = { title: "New password" };

export default function ResetPasswordPage() {
  return <CodeForm kind="reset" />;
}
