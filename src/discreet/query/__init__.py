"""What is asked: schema, plan, stability and price. No data, no database, no noise drawn."""
