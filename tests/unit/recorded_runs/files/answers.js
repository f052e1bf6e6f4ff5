// A provider for test data: what it answers depends on the country alone.
module.exports = class {
  id() { return 'answers'; }
  async callApi(prompt) {
    if (prompt.includes('Nowhere')) return { error: 'there is no such place' };
    const name = ['Norway', 'France', 'Chile'].find((each) => prompt.includes(each));
    const output = { Norway: 'Oslo, in Norway', France: 'Berlin', Chile: 'Lima' }[name];
    return { output, tokenUsage: { prompt: 9, completion: 2, total: 11 }, cost: 0.000021 };
  }
};
