import { networkError } from "../errors/client";

/** Awaits code. What cannot be fetched now may be there later, as the host may. */
export async function loaded<T>(code: T | Promise<T>): Promise<T> {
  try {
    return await code;
  } catch (error) {
    throw networkError("greenroom/client", error);
  }
}
