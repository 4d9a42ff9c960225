declare module "virtual:notices" {
  const text: string;
  export default text;
}
