/** `greenroom/test`: actors under test. */
export type { Duration } from "./duration";
export { createTestKit, type Resolvable, TestKit, type TestKitOptions } from "./kit";
