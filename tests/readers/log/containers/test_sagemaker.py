"""SageMaker."""

from container_logs import exit_name, facts_of, notices


def test_the_exit_code_of_the_users_script() -> None:
    assert exit_name("sagemaker") == "SIGSEGV"
    assert notices(facts_of("sagemaker", "sagemaker")) == ["AlgorithmError: ExecuteUserScriptError"]
