/** What a thrown value says, whatever it is. */
export function messageOf(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.message;
  try {
    return String(thrown);
  } catch {
    return "a value that cannot be printed was thrown";
  }
}
